// tests/algorithms/models/clean_close_test.cpp - what a clean close records of journal, models and
// certificates: what is cut, removed or replaced afterwards is noticed, what a later writer leaves
// behind when it is killed is not complained of.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <map>

#include "algorithms/live/digest.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/store_repair.h"
#include "storage/formats/model_file.h"
#include "storage/io/error.h"
#include "storage/io/line_log.h"
#include "support/folder_bytes.h"
#include "support/opened_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::kContext;
using testing::message_of;
using testing::read_all;
using testing::repair;
using testing::TrainedStore;
using testing::write_file;

constexpr std::size_t kHeader = 40, kRecord = 80;  // bytes of a journal's header, and of a record of one request

void close(const fs::path& store) {
  StoreWriter(store, ample_budget()).record();
}

std::uint64_t sequence_of(const fs::path& store) {
  return StoreReader(store, ample_budget()).sequence();
}

/// What readers and writers say of a store.
std::string refusal(const fs::path& store, Access access) {
  return message_of<DataError>([&] { static_cast<void>(testing::opened_store(store, access, ample_budget())); });
}

ino_t inode_of(const fs::path& file) {
  struct stat found {};
  REQUIRE(::stat(file.c_str(), &found) == 0);
  return found.st_ino;
}

bool holds(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// What verify finds; all of it is unreadable.
std::string findings(const fs::path& store) {
  const VerifyReport report = verify_store(store, {}, ample_budget());
  std::string text;
  for (const Finding& finding : report.findings) text += plain(finding.text) + "\n";
  CHECK(report.unreadable() == !text.empty());
  return text;
}

/// Three batches of one request in the journal.
struct ClosedStream {
  TrainedStore trained;
  fs::path store = trained.store, journal;

  explicit ClosedStream(const std::vector<std::string>& solvers = {}) {
    for (const std::string& solver : solvers) trained.train(solver);
    for (const std::uint64_t node : {7, 9, 11}) trained.stream({{RequestKind::remove_node, node, 0}}, solvers);
    journal = store / read_manifest(store).journal.value().path;
    REQUIRE(fs::file_size(journal) == kHeader + 3 * kRecord);
  }
};

/// A store whose model was released three times, and closed after the second; all its files at each
/// of these moments.
struct Released {
  TrainedStore trained;
  fs::path store = trained.store, model = trained.model("newton"), log = trained.log("newton"),
           parts = private_log(store, "newton");
  std::map<fs::path, std::string> first, second, third;

  Released() {
    trained.train("newton");
    first = trained.files_of("newton");
    {
      StoreWriter live(store, ample_budget());
      Learner learner = Learner::open(live, ample_budget(), "newton", kContext, 9);
      const std::vector<Request> requests{{RequestKind::remove_node, 7, 0}};
      learner.absorb(live.apply(requests, live.resolve(requests), {}));
      learner.settle();
      live.record();
    }
    second = trained.files_of("newton");
    trained.stream({{RequestKind::remove_node, 9, 0}}, {"newton"});  // killed before a close
    third = trained.files_of("newton");
  }
  /// What the next writer with this solver says.
  [[nodiscard]] std::string refusal() const {
    StoreWriter live(store, ample_budget());
    return message_of<DataError>(
        [&] { static_cast<void>(Learner::open(live, ample_budget(), "newton", kContext, 9)); });
  }
  [[nodiscard]] std::string refusal_to_train() const {
    return message_of<DataError>([&] { trained.train("newton"); });
  }
};

TEST_SUITE("unit") {
  TEST_CASE("without a clean close a journal may end after any batch; with one it may not") {
    const ClosedStream world;
    const std::string whole = read_all(world.journal);
    for (std::size_t batches = 0; batches < 3; ++batches) {
      write_file(world.journal, whole.substr(0, kHeader + batches * kRecord));
      CHECK(sequence_of(world.store) == batches);
    }
    write_file(world.journal, whole);
    close(world.store);
    CHECK(read_manifest(world.store).journal->bytes == whole.size());
    CHECK(sequence_of(world.store) == 3);
    CHECK(findings(world.store) == "");
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      CAPTURE(bytes);
      write_file(world.journal, whole.substr(0, bytes));
      const std::string text = refusal(world.store, Access::read);
      CHECK(holds(text, world.journal.string() + ": byte " + std::to_string(bytes)));
      CHECK(holds(text, " cut-journal`"));
      if (bytes % kRecord != kHeader) continue;
      CHECK(refusal(world.store, Access::write) == text);
      CHECK(holds(findings(world.store), text));
      CHECK(read_all(world.journal) == whole.substr(0, bytes));
    }
    fs::remove(world.journal);
    CHECK(holds(refusal(world.store, Access::write), "it is missing"));
  }

  TEST_CASE("zeros in the place of a recorded batch are no append that was interrupted") {
    const ClosedStream world;
    std::string bytes = read_all(world.journal);
    close(world.store);
    bytes.replace(kHeader + 2 * kRecord, kRecord, kRecord, '\0');
    write_file(world.journal, bytes);
    CHECK(holds(refusal(world.store, Access::write), " cut-journal`"));
    CHECK(read_all(world.journal) == bytes);
  }

  TEST_CASE("another journal of the same store and length is not the recorded one") {
    const ClosedStream world;
    const TrainedStore same;
    for (const std::uint64_t node : {7, 9, 12}) same.stream({{RequestKind::remove_node, node, 0}});
    close(world.store);
    const fs::path other = same.store / read_manifest(same.store).journal.value().path;
    REQUIRE(other.filename() == world.journal.filename());
    fs::copy_file(other, world.journal, fs::copy_options::overwrite_existing);
    CHECK(holds(refusal(world.store, Access::read), "are others than when the store was closed"));
    const auto lost = repair(world.store, false);
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].lost);
    CHECK_FALSE(repair(world.store, true).at(0).lost);  // which of them are right nobody knows
    CHECK(sequence_of(world.store) == 0);
  }

  TEST_CASE("what comes after a clean close may be cut off by a crash, and the next close records it") {
    const ClosedStream world;
    close(world.store);
    world.trained.stream({{RequestKind::remove_node, 13, 0}});
    const std::string whole = read_all(world.journal);
    REQUIRE(whole.size() == kHeader + 4 * kRecord);
    for (std::size_t bytes = kHeader + 3 * kRecord; bytes < whole.size(); ++bytes) {
      write_file(world.journal, whole.substr(0, bytes));
      CHECK(sequence_of(world.store) == 3);
    }
    write_file(world.journal, whole);
    close(world.store);
    write_file(world.journal, whole.substr(0, kHeader + 3 * kRecord));
    CHECK(holds(refusal(world.store, Access::read), "was cut"));
  }

  TEST_CASE("a close writes nothing where nothing has changed, and a checkpoint records by itself") {
    const ClosedStream world;
    close(world.store);
    const auto before = inode_of(world.store / kManifestName);
    const auto files = testing::folder_bytes(world.store);
    close(world.store);
    CHECK(inode_of(world.store / kManifestName) == before);  // a file that replaces another has its own
    CHECK(testing::folder_bytes(world.store) == files);
    StoreWriter(world.store, ample_budget()).checkpoint();
    const FileEntry journal = read_manifest(world.store).journal.value();
    CHECK(journal.bytes == kHeader);
    fs::resize_file(world.store / journal.path, kHeader - 1);
    CHECK(holds(refusal(world.store, Access::write), "was cut"));
  }

  TEST_CASE("repair gives up requests of a cut journal where it is told to, and records what is left") {
    const ClosedStream world;
    close(world.store);
    const std::string whole = read_all(world.journal);
    for (const std::size_t bytes : {kHeader + kRecord, kHeader + kRecord + 30, std::size_t{10}}) {
      CAPTURE(bytes);
      write_file(world.journal, whole.substr(0, bytes));
      const std::uint64_t left = bytes < kHeader ? 0 : 1;
      CHECK(repair(world.store, false).at(0).lost);
      CHECK(read_all(world.journal) == whole.substr(0, bytes));
      const auto report = repair(world.store, true);
      REQUIRE(report.size() == 1);
      CHECK(holds(report[0].remedy, "cut off after request " + std::to_string(left)));
      CHECK(sequence_of(world.store) == left);
      CHECK(findings(world.store) == "");
      CHECK(read_manifest(world.store).journal->bytes == kHeader + left * kRecord);
      write_file(world.journal, whole);
      close(world.store);
    }
  }

  TEST_CASE("repair drops a model that has absorbed lost requests, also one that no program here can read") {
    const ClosedStream world({"newton"});
    const fs::path model = world.trained.model("newton");
    ModelFile file = read_model_file(model);
    testing::Json text = testing::Json::parse(file.text);
    text["solver"] = "unheard-of";
    text["name"] = "newton";
    file.text = text.dump();
    write_model_file(model, file);
    CHECK(holds(findings(world.store), model.string()));
    fs::resize_file(world.journal, kHeader + 2 * kRecord);
    const std::string text_of_refusal = refusal(world.store, Access::write);
    CHECK(holds(text_of_refusal, "the model of newton has absorbed 3"));
    CHECK(holds(text_of_refusal, " cut-journal`"));
    static_cast<void>(repair(world.store, true));
    CHECK_FALSE(fs::exists(model));
    CHECK(sequence_of(world.store) == 2);
  }

  TEST_CASE("a model may be later than the recorded one, not earlier, other or missing") {
    const Released world;
    CHECK(world.refusal() == "");
    CHECK(findings(world.store) == "");
    CHECK(load_model(world.store, "newton").model.releases == 3);

    // A model from before the close, with its logs or with those of later.
    write_file(world.model, world.first.at(world.model));
    const std::string text = world.refusal();
    CHECK(holds(text, world.model.string() + ": it is another model than when the store was closed"));
    CHECK(holds(text, "run `train "));
    CHECK(holds(findings(world.store), text));
    CHECK(plain(list_models(world.store).at(0).damage) == text);
    TrainedStore::restore(world.first);
    CHECK(holds(world.refusal(), "another model"));

    // Another one of the same number.
    TrainedStore::restore(world.second);
    CHECK(world.refusal() == "");
    ModelRecord other = load_model(world.store, "newton");
    other.model.published(0, 0) += 1;
    save_model(world.store, other);
    CHECK(holds(world.refusal(), "another model"));

    fs::remove(world.model);
    CHECK(holds(world.refusal(), "it is missing"));
    CHECK(holds(findings(world.store), world.model.string() + ": it is missing"));
    CHECK(holds(list_models(world.store).at(0).damage, "it is missing"));
    TrainedStore::restore(world.third);
    CHECK(findings(world.store) == "");
  }

  TEST_CASE("training replaces a model that is not the recorded one, also where it is killed before a close") {
    const Released world;
    fs::remove(world.model);
    world.trained.train("newton");
    CHECK(load_model(world.store, "newton").model.releases == 1);
    CHECK(world.refusal() == "");
    CHECK(findings(world.store) == "");
    close(world.store);  // the writer had no model before
    CHECK(findings(world.store) == "");
  }

  TEST_CASE("a log of certificates may be longer than the recorded one, not shorter, other or missing") {
    const Released world;
    for (const fs::path& log : {world.log, world.parts}) {
      CAPTURE(log);
      const std::string second = world.second.at(log), third = world.third.at(log);
      REQUIRE(third.starts_with(second));
      std::string other = second;
      other[20] = static_cast<char>(other[20] ^ 1);
      TrainedStore::restore(world.second);
      for (const std::string& bad : {world.first.at(log), second.substr(0, second.size() - 1), std::string(), other}) {
        write_file(log, bad);
        CHECK(holds(world.refusal(), log.string()));
        CHECK(holds(world.refusal_to_train(), log.string()));
        CHECK(holds(findings(world.store), log.string()));
        CHECK(read_all(log) == bad);
      }
      fs::remove(log);
      CHECK(holds(world.refusal(), log.string() + ": it is missing"));
      CHECK(holds(findings(world.store), log.string() + ": it is missing"));
      // A line that a crash left incomplete after the close.
      write_file(log, second + third.substr(second.size(), 40));
      CHECK(world.refusal() == "");
      CHECK(read_all(log) == second);
    }
  }

  TEST_CASE("a stream without the solver does not hide that its log was cut") {
    const Released world;
    write_file(world.log, world.first.at(world.log));
    world.trained.stream({{RequestKind::remove_node, 13, 0}});
    StoreWriter(world.store, ample_budget()).checkpoint();
    close(world.store);
    CHECK(holds(findings(world.store), world.log.string() + ": byte"));
  }

  TEST_CASE("who moves model and certificates away begins anew") {
    const Released world;
    for (const auto& [file, bytes] : world.second) fs::remove(file);
    CHECK(holds(findings(world.store), "it is missing"));
    world.trained.train("newton");
    StoreWriter live(world.store, ample_budget());
    static_cast<void>(
        Learner::train(live, ample_budget(), "newton", testing::seeded(2), live.embedding().spec().weights, kContext));
    live.record();
    CHECK(findings(world.store) == "");
  }

  TEST_CASE("a purged store records nothing") {
    const Released world;
    static_cast<void>(testing::purge(world.store));
    const Manifest manifest = read_manifest(world.store);
    CHECK_FALSE(manifest.journal.has_value());
    CHECK(manifest.releases.empty());
    CHECK(findings(world.store) == "");
    CHECK_THROWS_AS(static_cast<void>(load_model(world.store, "newton")), UsageError);
  }
}

}  // namespace
}  // namespace unweave
