// tests/algorithms/models/receipts_test.cpp - what receipts show of requests and of what became of
// them, and which are written after a crash.
#include "algorithms/models/receipts.h"

#include <doctest/doctest.h>

#include <functional>

#include "algorithms/live/store_writer.h"
#include "algorithms/updates/request_status.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "support/trail.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::check_one;
using testing::Json;
using testing::lines_of;
using testing::read_all;
using testing::Trail;
using testing::write_file;
using testing::write_lines;

TEST_SUITE("unit") {
  TEST_CASE("receipts: of every request, for its certificate alone, and of no other") {
    const Trail trail;
    const std::vector<std::string> good = lines_of(trail.receipts);
    REQUIRE(good.size() == 1 + trail.last.size());
    const auto with = [&](const std::vector<std::string>& lines) {
      write_lines(trail.world.folder / "some", lines);
      return trail.audit((trail.world.folder / "some").string());
    };
    CHECK(testing::is_sound(with(good)));
    CHECK(with(good).receipts == good.size());
    for (const std::string& line : good) CHECK(with({line}).receipts == 1);
    CHECK(with(good).applied + with(good).rejected == good.size());
    CHECK(with({good[4]}).rejected == 1);  // edge 1 1
    const auto altered = [&](std::size_t i, const std::function<void(Json&)>& change) {
      Json receipt = Json::parse(good[i]);
      change(receipt);
      return with({receipt.dump()});
    };
    const std::string other = "line 1: its certificate does not cover this request with this outcome";
    const std::string none_of_both = "line 1: its status is neither applied nor rejected for a reason";
    check_one(altered(4, [](Json& receipt) { receipt["status"] = "applied", receipt.erase("reason"); }), false, other);
    check_one(altered(4, [](Json& receipt) { receipt["reason"] = "absent-edge"; }), false, other);
    check_one(altered(1, [](Json& receipt) { receipt["status"] = "rejected", receipt["reason"] = "self-loop"; }), false,
              other);
    check_one(altered(4, [](Json& receipt) { receipt["status"] = "applied"; }), false, none_of_both);
    check_one(altered(4, [](Json& receipt) { receipt.erase("reason"); }), false, none_of_both);
    check_one(altered(4, [](Json& receipt) { receipt["status"] = "rejected\tself-loop", receipt.erase("reason"); }),
              false, none_of_both);
    check_one(altered(4, [](Json& receipt) { receipt["request"] = "edge 1 1\trejected"; }), false, none_of_both);
    check_one(altered(4, [](Json& receipt) { receipt.erase("status"); }), true, "malformed");
    for (const std::size_t i : {1, 4}) {  // a receipt of before says nothing of the outcome, and its leaf is another
      check_one(altered(i, [](Json& receipt) { receipt["format"] = "unweave receipt 1"; }), false, "say nothing");
      check_one(altered(i,
                        [](Json& receipt) {
                          receipt["format"] = "unweave receipt 1";
                          receipt.erase("status"), receipt.erase("reason");
                        }),
                false, other);
      check_one(
          altered(i,
                  [](Json& receipt) {
                    receipt["format"] = "unweave receipt 1";
                    receipt["request"] = outcome_of({RequestKind::remove_edge, 1, 1}, RequestStatus::self_loop, 0);
                  }),
          false, "line 1: its request is none");
    }
    for (const char* name : {"request", "sequence", "nonce", "certificate", "digest"}) {
      Json json = Json::parse(good[3]);
      json[name] = Json::parse(good[2])[name] == json[name] ? Json::parse(good[0])[name] : Json::parse(good[2])[name];
      CAPTURE(name);
      check_one(with({good[1], json.dump()}), false, "line 2: its ");
    }
    Json json = Json::parse(good[3]);
    json["path"].push_back(json["path"][0]);
    check_one(with({json.dump()}), false, "its certificate does not cover this request");
    json["path"] = Json::array();
    check_one(with({json.dump()}), false, "its certificate does not cover this request");
    json.erase("path");
    check_one(with({json.dump()}), true, "malformed");
    json = Json::parse(good[0]);
    json["certificate"] = 2;  // which was made without receipts
    json["digest"] = Json::parse(lines_of(trail.log)[1])["digest"];
    check_one(with({json.dump()}), false, "its certificate commits to no requests");
    check_one(with({}), true, "a receipt is missing here");
    check_one(with({"7"}), true, "line 1: ");
    json["certificate"] = 2.5;
    check_one(with({json.dump()}), true, "malformed");
    const VerifyReport none = trail.audit((trail.world.folder / "none").string());
    check_one(none, true, "none");
    CHECK(none.certificates == 0);  // told before the log is read

    // What a store says of its requests is in no byte of its public part.
    const std::string log = read_all(trail.log);
    for (const std::string& line : good)
      CHECK(log.find(Json::parse(line)["nonce"].get<std::string>()) == std::string::npos);
    CHECK(log.find("edge 30 31") == std::string::npos);
  }

  TEST_CASE("receipts that a crash kept from being written are written by the next stream, each once") {
    const Trail trail;
    const std::vector<std::string> good = lines_of(trail.receipts);
    const auto reopen = [&] {
      StoreWriter live(trail.world.store, ample_budget());
      static_cast<void>(Learner::open(live, ample_budget(), "newton", trail.context(), {}));
      return lines_of(trail.receipts);
    };
    CHECK(reopen() == good);
    for (std::size_t kept = 1; kept < good.size(); ++kept) {
      std::string text;
      for (std::size_t i = 0; i < kept; ++i) text += good[i] + "\n";
      write_file(trail.receipts, text + good[kept].substr(0, 30 * (kept % 3)));
      CHECK(reopen() == good);
    }
    // Requests that the journal has and no model: the certificate that catches up commits to them.
    trail.world.stream({{RequestKind::remove_node, 25, 0}, {RequestKind::remove_node, 25, 0}});
    {
      StoreWriter live(trail.world.store, ample_budget());
      Learner learner = Learner::open(live, ample_budget(), "newton", trail.context(), {});
      CHECK(learner.catch_up().has_value());
    }
    const std::vector<std::string> more = lines_of(trail.receipts);
    REQUIRE(more.size() == good.size() + 2);
    CHECK(Json::parse(more[good.size()])["status"] == "applied");
    CHECK(Json::parse(more.back())["request"].get<std::string>().starts_with("node 25 at=20"));
    CHECK(Json::parse(more.back())["status"] == "rejected");
    CHECK(Json::parse(more.back())["reason"] == "repeated");
    CHECK(testing::is_sound(trail.audit(trail.receipts.string())));
    const std::vector<std::string> newest(more.end() - 2, more.end());
    for (const std::size_t bytes : {0, 1, 20, 60}) {  // so much of the first receipt of a file
      write_file(trail.receipts, newest[0].substr(0, bytes));
      CHECK(reopen() == newest);
    }
    write_file(trail.receipts, std::string(700, '\0'));
    CHECK(reopen() == newest);
    for (const std::string& text : {std::string("something else\n"), std::string("something else"),
                                    std::string("{\"format\":\"unweave receipt 3\","), std::string(700, '\0') + "1"}) {
      write_file(trail.receipts, text);
      CHECK_THROWS_AS(reopen(), DataError);
      CHECK(read_all(trail.receipts) == text);
    }
  }

  TEST_CASE("receipts that a model of before holds are written, and hold, as they were then") {
    const Trail trail;
    ModelRecord record = load_model(trail.world.store, "newton");
    for (std::string& text : record.requests) text = std::string(read_outcome(text)->request);
    Json certificate = whole_certificate(record);
    certificate["batch"]["root"] = to_hex(tree_of(record).root());
    std::vector<std::string> log = lines_of(trail.log), parts = lines_of(private_log(trail.world.store, "newton"));
    seal_certificate(record, certificate, SigningKey::of_store(trail.world.store));
    log.back() = record.certificate;
    write_lines(trail.log, log);
    const fs::path file = trail.world.folder / "old";
    ReceiptFile(file).add(record);
    const std::vector<std::string> old = lines_of(file);
    REQUIRE(old.size() == trail.last.size());
    for (const std::string& line : old) {
      CHECK(line.starts_with("{\"format\":\"unweave receipt 1\","));
      CHECK_FALSE(Json::parse(line).contains("status"));
    }
    const VerifyReport report = trail.audit(file.string());
    CHECK(testing::is_sound(report));
    CHECK(report.receipts == old.size());
    CHECK(report.applied + report.rejected == 0);
    for (const std::string& status : {std::string("applied"), std::string("rejected")}) {  // which nobody noted then
      Json receipt = Json::parse(old[0]);
      receipt["format"] = kReceiptFormat;
      receipt["status"] = status;
      if (status == "rejected") receipt["reason"] = "self-loop";
      write_lines(file, {receipt.dump()});
      check_one(trail.audit(file.string()), false, "does not cover this request with this outcome");
      receipt["format"] = Json::parse(old[0])["format"];  // whose leaf does not bind what is added
      write_lines(file, {receipt.dump()});
      check_one(trail.audit(file.string()), false, "say nothing of the outcome");
    }
  }
}

}  // namespace
}  // namespace unweave
