// tests/algorithms/api/stream_session_test.cpp - the steps of a batch and what each leaves behind,
// without a command line: at every step the folder is copied, as a crash at that instant would
// leave it, and the copy is opened.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/models/certificate_log.h"
#include "algorithms/verification/verify_log.h"
#include "engine/graph/store.h"
#include "storage/io/error.h"
#include "storage/io/line_log.h"
#include "storage/io/plain_text.h"
#include "support/input_files.h"
#include "support/model_store.h"
#include "support/old_journal.h"
#include "unweave/maintenance.h"
#include "unweave/requests.h"
#include "unweave/rows.h"
#include "unweave/stream.h"

namespace unweave {
namespace {

using Strings = std::vector<std::string>;

ResourceLimits gigabyte() {
  return {std::uint64_t{1} << 30};
}

/// A store with a model, and copies of it.
struct Fixture : testing::ModelStore {
  int copies = 0;

  Fixture() : ModelStore(false) {}
  /// Without the lock, which ends with its process.
  std::filesystem::path copy() {
    std::filesystem::path to = folder / ("copy" + std::to_string(++copies));
    std::filesystem::copy(store, to, std::filesystem::copy_options::recursive);
    return to;
  }
  [[nodiscard]] std::uint64_t acknowledged(const std::filesystem::path& of) {
    return Reader(of, resources).acknowledged();
  }
  [[nodiscard]] std::uint64_t absorbed(const std::filesystem::path& of) { return read_model(of, {}).facts().sequence; }
  /// Ends of edges that are there, one a request.
  [[nodiscard]] std::vector<Request> edges(std::uint64_t count) {
    const Reader reader(store, resources);
    DrawOptions draw;
    draw.kind = DrawKind::kEdge;
    draw.count = count;
    return draw_requests(reader, draw);
  }
};

/// A text as it stands in a line of JSON, without quotes.
std::string json_string(const std::string& text) {
  const std::string quoted = nlohmann::json(text).dump();
  return quoted.substr(1, quoted.size() - 2);
}

std::size_t lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  return lines;
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE(
      "a batch is decided, journalled, applied and absorbed in this order, and a crash between two steps loses nothing") {
    Fixture at;
    const std::vector<Request> requests = at.edges(3);
    Strings steps;
    std::filesystem::path decided, before, after;
    {
      Writer writer(at.store, at.resources);
      StreamOptions options{.model = {.solver = "newton"}, .receipts = at.folder / "receipts"};
      options.decided = [&](const DecidedBatch& batch) {
        steps.emplace_back("decided");
        CHECK(batch.requests.size() == 3);
        CHECK(batch.statuses.size() == 3);
        CHECK(batch.after == 0);
        CHECK_FALSE(batch.refused);
        decided = at.copy();
      };
      options.before_acknowledged = [&] {
        steps.emplace_back("before");
        before = at.copy();
      };
      options.acknowledged = [&] {
        steps.emplace_back("acknowledged");
        after = at.copy();
      };
      StreamSession session(writer, options);
      const BatchOutcome outcome = session.send(requests);
      CHECK(steps == Strings{"decided", "before", "acknowledged"});
      CHECK_FALSE(outcome.refused);
      CHECK(outcome.after == 0);
      CHECK(outcome.batch.last_request == 3);
      REQUIRE(outcome.step);
      CHECK(outcome.step->certified);
      CHECK_FALSE(outcome.seconds_catch_up);
      CHECK(lines_of(at.folder / "receipts") == 3);

      for (const std::filesystem::path& early : {decided, before}) {
        CHECK(at.acknowledged(early) == 0);
        CHECK(at.absorbed(early) == 0);
      }
      // Acknowledged, and the model has not absorbed it: the next session makes up for it.
      CHECK(at.acknowledged(after) == 3);
      CHECK(at.absorbed(after) == 0);
      {
        Writer survivor(after, at.resources);
        StreamSession next(survivor, {.model = {.solver = "newton"}});
        CHECK(next.caught_up());
        const std::vector<Request> none{{RequestKind::remove_edge, 0, 0}};
        const BatchOutcome first = next.send(none);
        CHECK(first.seconds_catch_up);
        CHECK_FALSE(next.caught_up());
        CHECK(first.batch.changes.rejected == 1);
        next.close();
      }
      CHECK(at.absorbed(after) == 4);
      CHECK(verify_store(after, {}, at.resources).ok());

      // When send() returns, model and certificate are there, though the log may not be durable
      // yet.
      const std::filesystem::path sent = at.copy();
      CHECK(at.acknowledged(sent) == 3);
      CHECK(at.absorbed(sent) == 3);
      CHECK(verify_store(sent, {}, at.resources).ok());
      session.settle();
      CHECK(verify_certificates(public_log(at.store, "newton")).ok());
      CHECK(describe_store(at.copy(), at.resources).pending_requests == 3);
      session.close();
    }
    const StoreInfo closed = describe_store(at.store, at.resources);
    CHECK(closed.pending_requests == 0);
    CHECK(closed.acknowledged == 3);
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
  }

  TEST_CASE(
      "a session that is never closed leaves what it acknowledged, and the sums of a last level that was put off") {
    Fixture at;
    const std::vector<Request> requests = at.edges(20);
    {
      Writer writer(at.store, at.resources);
      StreamSession session(writer);
      for (std::size_t i = 0; i < requests.size(); i += 5)
        CHECK(session.send(std::span(requests).subspan(i, 5)).batch.changes.applied == 5);
    }
    const Digest lost = *describe_store(at.store, at.resources, true).digest;
    CHECK(at.acknowledged(at.store) == 20);
    {
      Writer writer(at.store, at.resources);
      StreamSession(writer).close();
    }
    CHECK(*describe_store(at.store, at.resources, true).digest == lost);
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
  }
}

TEST_SUITE("unit") {
  TEST_CASE("whoever decides may refuse a batch, and the session goes on") {
    Fixture at;
    const std::vector<Request> requests = at.edges(2);
    Writer writer(at.store, at.resources);
    bool refuses = true;
    StreamOptions options;
    options.decided = [&](const DecidedBatch&) {
      if (refuses) throw std::runtime_error("no");
    };
    StreamSession session(writer, options);
    CHECK_THROWS_WITH(session.send(requests), "no");
    CHECK(at.acknowledged(at.store) == 0);
    refuses = false;
    CHECK(session.send(requests).batch.last_request == 2);
    CHECK(at.acknowledged(at.store) == 2);
  }

  TEST_CASE("a strict session refuses a batch with one rejected request whole, and says which") {
    Fixture at;
    std::vector<Request> requests = at.edges(2);
    requests.push_back({RequestKind::remove_edge, 7, 7});
    Writer writer(at.store, at.resources);
    StreamSession session(writer, {.strict = true});
    const BatchOutcome refused = session.send(requests);
    CHECK(refused.refused);
    CHECK(refused.batch.changes.statuses ==
          std::vector<RequestStatus>{RequestStatus::applied, RequestStatus::applied, RequestStatus::self_loop});
    CHECK(at.acknowledged(at.store) == 0);
    requests.pop_back();
    CHECK_FALSE(session.send(requests).refused);
    CHECK(at.acknowledged(at.store) == 2);
  }

  TEST_CASE(
      "a session without a model has no step and no accuracies; one of another solver's model is refused by the option's key") {
    Fixture at;
    Writer writer(at.store, at.resources);
    {
      StreamSession session(writer);
      const BatchOutcome outcome = session.send(at.edges(1));
      CHECK_FALSE(outcome.step);
      CHECK_FALSE(session.accuracies().train);
      CHECK(session.lazy_error_bound() == 0);
    }
    try {
      StreamSession session(writer, {.model = {"newton", "retrain"}});
      FAIL("the model is not one of retrain");
    } catch (const UsageError& error) {
      CHECK(error.options() == Strings{"solver"});
      CHECK(std::string(error.what()).find("--") == std::string::npos);
    }
  }

  TEST_CASE("a threshold leaves stale rows, whose error is bounded") {
    Fixture at;
    Writer writer(at.store, at.resources);
    StreamSession session(writer, {.mode = {1e-2, ThresholdScale::absolute}});
    static_cast<void>(session.send(at.edges(30)));
    REQUIRE(session.lazy_error_bound());
    CHECK(*session.lazy_error_bound() > 0);
    session.close();
    CHECK(describe_store(at.store, at.resources).stale_rows > 0);
  }

  TEST_CASE("a batch that fails after it is acknowledged ends its session; the next one makes up for it") {
    Fixture at;
    const std::vector<Request> requests = at.edges(40);
    const std::filesystem::path receipts = at.folder / "receipts";
    {
      Writer writer(at.store, at.resources);
      StreamOptions options{.model = {.solver = "newton"}, .receipts = receipts};
      // The model cannot be saved: its folder has become a file.
      const std::filesystem::path models = at.store / "models", away = at.folder / "models";
      options.acknowledged = [&] {
        std::filesystem::rename(models, away);
        testing::write_file(models, "");
      };
      StreamSession session(writer, options);
      CHECK_THROWS(session.send(std::span(requests).first(20)));
      std::filesystem::remove(models);
      std::filesystem::rename(away, models);
      CHECK_THROWS_WITH_AS(session.send(std::span(requests).subspan(20)), doctest::Contains("begin another session"),
                           DataError);
      CHECK_THROWS_AS(session.close(), DataError);
      CHECK_THROWS_AS(static_cast<void>(session.accuracies()), DataError);
    }
    CHECK(at.acknowledged(at.store) == 20);
    Writer writer(at.store, at.resources);
    StreamSession next(writer, {.model = {.solver = "newton"}, .receipts = receipts});
    CHECK(next.caught_up());
    CHECK(lines_of(receipts) == 20);
    static_cast<void>(next.send(std::span(requests).subspan(20)));
    next.close();
    CHECK(lines_of(receipts) == 40);
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
    CHECK(verify_certificates(public_log(at.store, "newton"), {}, receipts).ok());
  }

  TEST_CASE(
      "several models follow one stream, each with its certificate, and each asks to withdraw the others that lag") {
    Fixture at;
    const std::vector<Request> requests = at.edges(4);
    {
      Writer writer(at.store, at.resources);
      static_cast<void>(writer.train({.solver = "exact"}));
      static_cast<void>(writer.train({.solver = "newton", .name = "second"}));
    }
    {
      Writer writer(at.store, at.resources);
      CHECK_THROWS_AS(StreamSession(writer, {.model = {.solver = "newton"}, .more_models = {{.name = "newton"}}}),
                      UsageError);
      CHECK_THROWS_AS(StreamSession(writer, {.mode = {1e-2, ThresholdScale::absolute},
                                             .model = {.solver = "newton"},
                                             .more_models = {{.solver = "exact"}}}),
                      UsageError);
      StreamSession session(writer, {.model = {.solver = "newton"},
                                     .more_models = {{.solver = "exact"}, {.name = "second"}},
                                     .receipts = at.folder / "receipts"});
      CHECK(session.models() == Strings{"newton", "exact", "second"});
      CHECK(session.models_left_behind().empty());
      for (std::size_t i = 0; i < 4; i += 2) {
        const BatchOutcome outcome = session.send({requests.data() + i, 2});
        REQUIRE(outcome.steps.size() == 3);
        CHECK(outcome.steps[2].name == "second");
        CHECK(outcome.steps[2].solver == "newton");
        for (const ModelStep& step : outcome.steps) CHECK(step.report.certified);
        REQUIRE(outcome.step);
        CHECK(outcome.step->budget == outcome.steps[0].report.budget);
      }
      CHECK(session.accuracies(2).train);
      CHECK_FALSE(session.accuracies(3).train);
      session.close();
    }
    const auto last = [&](const std::string& name) {
      return nlohmann::json::parse(last_line(public_log(at.store, name)).value());
    };
    for (const char* name : {"newton", "exact", "second"}) {
      CHECK(lines_of(public_log(at.store, name)) == 3);
      CHECK(lines_of(at.folder / ("receipts." + std::string(name))) == 4);
      CHECK(verify_certificates(public_log(at.store, name), {}, at.folder / ("receipts." + std::string(name))).ok());
      CHECK(last(name).at("sequence") == 4);
    }
    // Those that absorb the batch later show the batch before, and so does what a release replaces.
    std::vector<std::size_t> withdrawn;
    for (const char* name : {"newton", "exact", "second"}) withdrawn.push_back(last(name).at("withdraw").size());
    CHECK(withdrawn == std::vector<std::size_t>{3, 2, 1});
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
  }

  TEST_CASE("a session purges its store and goes on, with the models that follow, and nobody else writes in between") {
    Fixture at;
    const std::vector<Request> requests = at.edges(6);
    {
      Writer writer(at.store, at.resources);
      static_cast<void>(writer.train({.solver = "exact"}));
      SolverOptions other_order;
      other_order.parameters = {{"order-key", 2}};
      static_cast<void>(writer.train({.solver = "langevin", .options = other_order}));
    }
    Writer writer(at.store, at.resources);
    {
      StreamSession session(writer, {.model = {.solver = "exact"},
                                     .more_models = {{.solver = "newton"}, {.solver = "langevin"}},
                                     .train_purged = true});
      static_cast<void>(session.send({requests.data(), 2}));
      CHECK(session.purge_need().requests == 2);
      Strings removed;
      PurgeOptions how;
      how.before_removal = [&](const Strings& names) {
        removed = names;
        CHECK_THROWS_AS(WriterLock(at.store), ResourceError);
      };
      const PurgeReport report = session.purge(how);
      CHECK(report.requests == 2);
      CHECK(report.kept_models == Strings{"exact"});
      CHECK(report.trained_models == Strings{"newton", "langevin"});
      CHECK(removed.size() == 2);
      CHECK_THROWS_AS(WriterLock(at.store), ResourceError);
      CHECK(session.is_open());
      CHECK(session.purge_need().requests == 0);
      CHECK(read_model(at.store, {.name = "langevin"}).facts().options.parameters.at("order-key") == 2);
      // One that is refused leaves the store and the session as they were.
      PurgeOptions wrong;
      wrong.nodes = 1;
      CHECK_THROWS_AS(session.purge(wrong), UsageError);
      CHECK(session.is_open());
      const BatchOutcome outcome = session.send({requests.data() + 2, 2});
      CHECK(outcome.batch.last_request == 2);
      for (const ModelStep& step : outcome.steps) CHECK(step.report.certified);
      session.close();
      CHECK_FALSE(session.is_open());
    }
    CHECK(writer.purge({}).requests == 2);
    CHECK(writer.acknowledged() == 0);
    // As a kill between a purge and the training after it leaves the store.
    CHECK_THROWS_AS(StreamSession(writer, {.model = {.solver = "newton"}}), UsageError);
    {
      StreamSession session(writer, {.model = {.solver = "newton"}, .train_purged = true});
      CHECK(session.send({requests.data() + 4, 1}).step->certified);
      session.close();
    }
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
    CHECK(verify_certificates(public_log(at.store, "newton"), {}, {}).ok());
  }

  TEST_CASE("an empty batch does nothing, and leaves no certificate") {
    Fixture at;
    {
      Writer writer(at.store, at.resources);
      StreamSession session(writer, {.model = {.solver = "newton"}});
      const BatchOutcome outcome = session.send({});
      CHECK_FALSE(outcome.step);
      CHECK(outcome.batch.last_request == 0);
      session.close();
      CHECK_THROWS_AS(session.send(at.edges(1)), UsageError);
    }
    CHECK(lines_of(public_log(at.store, "newton")) == 1);
    CHECK(verify_store(at.store, {}, at.resources).ok());
  }

  TEST_CASE("a writer has one session at a time, and changes nothing else meanwhile") {
    Fixture at;
    Writer writer(at.store, at.resources);
    {
      StreamSession session(writer, {.model = {.solver = "newton"}});
      CHECK_THROWS_AS(StreamSession(writer, {}), UsageError);
      CHECK_THROWS_AS(static_cast<void>(writer.train({.solver = "newton"})), UsageError);
      CHECK_THROWS_AS(writer.propagate(testing::tiny_spec(2, true)), UsageError);
      Writer moved = std::move(writer);
      CHECK(session.send(at.edges(1)).batch.last_request == 1);
      writer = std::move(moved);
    }
    StreamSession(writer).close();
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
  }

  TEST_CASE("ids that are no plain text are not taken, and count where an older program has acknowledged them") {
    Fixture at;
    const std::filesystem::path receipts = at.folder / "receipts";
    std::vector<Request> requests = at.edges(4);
    for (std::size_t i = 0; i < 3; ++i) requests[i].id = "WORDS" + std::to_string(i);
    {
      Writer writer(at.store, at.resources);
      CHECK(writer.remark_on_ids().empty());
      StreamSession session(writer, {.model = {.solver = "newton"}, .receipts = receipts});
      for (const char* id : {"T\xFF",
                             "\xC2\x9B"
                             "2J",
                             "\xE2\x80\xAE"
                             "a",
                             "a b"}) {
        std::vector<Request> bad = requests;
        bad[1].id = id;
        CHECK_THROWS_AS(session.send(bad), UsageError);
        CHECK_THROWS_AS(session.acknowledge(bad), UsageError);
      }
      CHECK(session.acknowledge(requests) == 4);  // refused ones have done no harm, and a kill follows
    }
    // What a program wrote that took any bytes from 0x80 on.
    testing::put_words_into_journal(at.store, "WORDS0", "T\xFF\x80---");
    testing::put_words_into_journal(at.store, "WORDS1",
                                    "\xC2\x9B"
                                    "2J--");
    const Strings shown{"T\\xFF\\x80---", "\\xC2\\x9B2J--", "WORDS2"};
    for (int start = 0; start < 3; ++start) {
      CAPTURE(start);
      Writer writer(at.store, at.resources);
      if (start < 2) {
        CHECK(writer.remark_on_ids().starts_with("the ids of 2 requests, the first of them request 1, '" + shown[0] +
                                                 "', are no plain text"));
        CHECK(writer.remark_on_ids().ends_with((at.store / "certificates/requests").string()));
      }
      StreamSession session(writer, {.model = {.solver = "newton"}, .receipts = receipts});
      CHECK(session.caught_up() == (start == 0));
      const BatchOutcome outcome = session.send(at.edges(1));
      CHECK(outcome.batch.changes.applied == 1);
      if (start == 2) session.close();  // the others are killed
    }
    CHECK(at.absorbed(at.store) == 7);
    const std::string told = testing::read_all(receipts);
    CHECK_FALSE(text_fault(told, "\n"));
    for (const std::string& id : shown) {
      CAPTURE(id);
      Strings found;
      visit_requests(at.store, id, at.resources, [&](const RequestRecord& record) {
        found.push_back(record.id);
        CHECK(record.status == "applied");
      });
      CHECK(found == Strings{id});
      CHECK(told.find(" id=" + json_string(id) + " at=") != std::string::npos);
    }
    Strings raw;
    visit_requests(at.store, "T\xFF\x80---", at.resources,
                   [&](const RequestRecord& record) { raw.push_back(record.id); });
    CHECK(raw == Strings{shown[0]});
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
    const VerifyReport log = verify_log(public_log(at.store, "newton"), {}, receipts);
    CHECK(log.ok());
  }

  TEST_CASE("what a journal could not be read with again is not acknowledged") {
    const testing::TempDir folder;
    testing::write_store(folder / "s", testing::random_store(20, 40, 0, 1));  // never propagated
    Resources resources(gigabyte());
    Writer writer(folder / "s", resources);
    CHECK_THROWS_AS(StreamSession(writer, {.mode = {-1, ThresholdScale::absolute}}), UsageError);
    CHECK_THROWS_AS(StreamSession(writer, {.mode = {std::nan(""), ThresholdScale::absolute}}), UsageError);
    {
      StreamSession session(writer, {.mode = {0, static_cast<ThresholdScale>(7)}});
      CHECK_THROWS_AS(session.send(std::vector<Request>{{RequestKind::remove_node, 1, 0}}), UsageError);
    }
    CHECK(Reader(folder / "s", resources).acknowledged() == 0);
  }
}

}  // namespace unweave
