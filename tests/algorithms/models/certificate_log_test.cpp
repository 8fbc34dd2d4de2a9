// tests/algorithms/models/certificate_log_test.cpp - the trail of certificates: what an auditor
// finds who has the public lines alone, and what is left of it after a purge.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "algorithms/live/store_writer.h"
#include "algorithms/verification/verify_log.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "support/trail.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::check_one;
using testing::check_remark;
using testing::is_sound;
using testing::Json;
using testing::lines_of;
using testing::read_all;
using testing::seeded;
using testing::text_of;
using testing::Trail;
using testing::TrainedStore;
using testing::unseeded;
using testing::write_file;
using testing::write_lines;

/// Signed by the key of the store, whatever it says.
std::string sealed(const TrainedStore& world, Json json) {
  for (const Json& name : Json(json.at("private")))
    if (name != "terms") json[name.get<std::string>()] = 0;
  json["nonce"] = "";
  ModelRecord record;
  seal_certificate(record, json, SigningKey::of_store(world.store));
  return record.certificate;
}

bool holds(const fs::path& folder, const std::string& bytes) {
  return std::any_of(fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator(),
                     [&](const auto& item) {
                       return item.is_regular_file() && read_all(item.path()).find(bytes) != std::string::npos;
                     });
}

TEST_SUITE("unit") {
  TEST_CASE("the same weights have another name in another training: no name confirms a guess about them") {
    SolverOptions options = unseeded();
    options.seed.reset();
    for (const std::string solver : {"streaming", "finetune", "neggrad"}) {
      CAPTURE(solver);
      std::vector<ModelRecord> records;
      for (int training = 0; training < 2; ++training) {
        const TrainedStore trained;
        trained.train(solver, options);
        records.push_back(load_model(trained.store, solver));
      }
      CHECK(records[0].model.published == records[1].model.published);
      CHECK(release_id(records[0]) != release_id(records[1]));
    }
  }

  TEST_CASE(
      "an auditor finds removed, moved, foreign and altered lines and another key; a cut tail is found by the model") {
    const Trail trail;
    const std::vector<std::string> good = lines_of(trail.log);
    REQUIRE(good.size() == 4);
    CHECK(is_sound(trail.audit()));
    CHECK(trail.audit().certificates == 4);
    const std::string key = Json::parse(good[0])["public_key"];
    CHECK(verify_log(trail.log, key, {}).ok());
    check_one(verify_log(trail.log, std::string(64, '1'), {}), false, "line 1: it is signed by another key");

    const auto with = [&](const std::vector<std::string>& lines) {
      write_lines(trail.log, lines);
      return trail.audit();
    };
    check_one(with({good[1], good[2], good[3]}), false, "line 1: this is certificate 2, and those before are missing");
    check_one(with({good[0], good[2], good[3]}), false, "line 2: certificate 3 does not follow certificate 1");
    check_one(with({good[0], good[2], good[1], good[3]}), false, "line 2: certificate 3 does not follow certificate 1");
    check_one(with({good[0], good[0], good[1]}), false, "line 2: certificate 1 does not follow certificate 1");
    check_one(with({}), true, "holds no certificate");
    CHECK(with({good[0], good[1]}).ok());  // a shorter log is a log; the model tells that it has gone on
    check_one(trail.world.verify(), false, "it ends with certificate 2, the model's is number 4");
    CHECK(with({good[0], good[1], good[2]}).ok());
    CHECK(trail.world.verify().ok());  // what a crash leaves; nobody can tell
    CHECK(text_of(trail.world.verify()).find("is not in it yet") != std::string::npos);

    // By who has the key: numbers that contradict each other, and what must not be there.
    const auto altered = [&](const std::string& pointer, const Json& value) {
      Json json = Json::parse(good[1]);
      json[Json::json_pointer(pointer)] = value;
      return with({good[0], sealed(trail.world, json), good[2], good[3]});
    };
    check_one(altered("/terms/sigma", 1e3), false, "line 2: sigma is 1000.0, computed again");
    check_one(altered("/terms/mu", 1.0), false, "line 2: mu is 1.0, computed again");
    check_one(altered("/budget", 1e-3), false, "line 2: the budget is not tau");
    check_one(altered("/delta/reached", 1e-5), false, "line 2: the delta reached is 1e-05, computed again");
    check_one(altered("/delta/reached", 1e-3), false, "line 2: the delta reached is above its target");
    check_one(altered("/epsilon", 0.5), false, "line 2: ");
    check_one(altered("/theorem", "T9"), false, "line 2: its claim is not its theorem");
    check_one(altered("/claim", "T2"), false, "line 2: its claim is not its theorem");
    check_one(altered("/sequence", 7), false, "line 2: its requests do not end with its sequence");
    check_one(altered("/batch/first", 2), false, "line 2: its requests do not end with its sequence");
    check_one(altered("/release", 4), false, "line 2: release 4 cannot follow release 1");
    check_one(altered("/solver", "retrain"), false, "line 2: it is a certificate of retrain");
    check_one(altered("/terms/residual", 1e-9), false, "line 3: certificate 3 does not follow");  // taken for private
    check_one(altered("/version", "other"), false, "line 3: certificate 3 does not follow");

    // Other words: who has a key of their own can sign any. In a line that is certified: others
    // claim nothing.
    const auto reworded = [&](const char* member, const Json& value) {
      Json json = Json::parse(good[1]);
      json[member] = value;
      return with({good[0], sealed(trail.world, json), good[2], good[3]});
    };
    const Json last = Json::parse(good[1]);
    check_one(reworded("not_covered", Json::array()), false, "line 2: not_covered lacks what T1 leaves open: what an ");
    Json less = last["not_covered"], more = last["not_covered"];
    less.erase(less.size() - 1);
    more.push_back("nothing");
    check_one(reworded("not_covered", less), false, "line 2: not_covered lacks what T1 leaves open: choices that");
    check_one(reworded("not_covered", more), false, "line 2: not_covered is not in the words that T1 has");
    for (const char* member : {"mechanism", "reference", "adjacency", "requests", "releases"})
      check_one(reworded(member, "other"), false,
                std::string("line 2: ") + member + " is not in the words that T1 has");
    check_one(reworded("releases", "this"), false, "line 2: not_covered lacks what T1 leaves open: several releases");
    check_one(reworded("withdraw", Json::array()), false, "line 2: withdraw does not end with the release before it");
    check_one(reworded("withdraw", Json::array({last["withdraw"].back().get<std::string>() + "0"})), false, "withdraw");
    check_one(reworded("withdraw", Json::array({"all of them", last["withdraw"].back()})), false,
              "line 2: withdraw has something that is no id");

    // Cut inside its last line, which is damage here, and what a crash leaves in a store.
    write_file(trail.log, read_all(trail.log).substr(0, good[0].size() + 100));
    check_one(verify_log(trail.log, {}, {}), true, "it was cut inside its last line, of which 99 bytes are there");

    // A log of another store, under the same key.
    TrainedStore third;
    third.train("newton", seeded(5));
    write_file(trail.log, read_all(third.log("newton")));
    CHECK(trail.audit().ok());
    CHECK_FALSE(trail.world.verify().ok());
    write_lines(trail.log, {lines_of(third.log("newton"))[0], good[1]});
    check_one(trail.audit(), false, "line 2: certificate 2 does not follow certificate 1");
  }

  TEST_CASE("an auditor computes the public numbers of every theorem again") {
    using Change = std::pair<const char*, double>;
    const std::vector<Change> run = {{"/terms/smoothness", 9.0},      {"/terms/strong_convexity", 1e9},
                                     {"/terms/gradient_bound", 1e-3}, {"/terms/batches", 1e3},
                                     {"/terms/slots", 1.0},           {"/constants/training_rows/value", 1e9}};
    const std::vector<Change> noise = {
        {"/terms/sensitivity", 1e-9}, {"/terms/sigma", 1e-9}, {"/terms/grid", 1e-30}, {"/budget", 1e6}};
    const std::map<std::string, std::vector<std::vector<Change>>> by_solver = {
        {"langevin", {run, {{"/terms/sigma", 0.0}}}},
        {"rewind", {run, noise, {{"/terms/distance", 1e6}, {"/terms/rounding", 1e-30}}}}};
    for (const auto& item : by_solver) {
      const std::string& solver = item.first;
      CAPTURE(solver);
      const TrainedStore trained;
      trained.train(solver);
      const fs::path log = trained.log(solver);
      const std::vector<std::string> good = lines_of(log);
      REQUIRE(good.size() == 1);
      REQUIRE(Json::parse(good[0])["certified"] == true);
      write_lines(log, {sealed(trained, Json::parse(good[0]))});
      CHECK(is_sound(verify_log(log, {}, {})));
      for (const std::vector<Change>& changes : item.second)
        for (const Change& change : changes) {
          CAPTURE(change.first);
          Json json = Json::parse(good[0]);
          json[Json::json_pointer(change.first)] = change.second;
          write_lines(log, {sealed(trained, json)});
          check_one(verify_log(log, {}, {}), false, "line 1: ");
        }
    }
  }

  TEST_CASE("no public line holds what is private, and the private part opens the commitment") {
    const Trail trail;
    const std::vector<std::string> lines = lines_of(trail.log),
                                   parts = lines_of(private_log(trail.world.store, "newton"));
    REQUIRE(parts.size() == lines.size());
    std::set<std::string> commitments;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Json json = Json::parse(lines[i]);
      for (const char* name : {"residual_bound", "retrained", "nonce"}) CHECK_FALSE(json.contains(name));
      CHECK_FALSE(json["terms"].contains("residual"));
      CHECK(json["terms"].contains("sigma"));
      CHECK(json["commitment"] == to_hex(hash_of(parts[i])));
      CHECK(whole_certificate(lines[i], parts[i])["terms"]["residual"].is_number());
      commitments.insert(json["commitment"].get<std::string>());
      CHECK(Json::parse(parts[i])["nonce"].get<std::string>().size() == 64);
    }
    CHECK(commitments.size() == lines.size());
  }

  TEST_CASE("private parts that are lost leave the public checks whole; others than those committed to are false") {
    const Trail trail;
    const fs::path file = private_log(trail.world.store, "newton");
    const std::vector<std::string> good = lines_of(file);
    fs::remove(file);
    check_remark(trail.world.verify(), "those of 1 to 4; a purge removes them");
    write_lines(file, {good[1], good[3]});
    check_remark(trail.world.verify(), "those of 1, 3; a purge removes them");
    Json json = Json::parse(good[1]);
    json["residual_bound"] = 1e-9;
    write_lines(file, {good[0], json.dump(), good[2], good[3]});
    check_one(trail.world.verify(), false, "line 2: this is not the private part that certificate 2 commits to");
    write_lines(file, {good[0], "garbage", good[2], good[3]});
    check_one(trail.world.verify(), true, file.string() + ": line 2: ");
    write_file(file, good[0] + "\n" + good[1] + "\n" + good[2] + "\n" + good[3] + "\n{\"num");
    check_remark(trail.world.verify(), "5 bytes of a line that was never finished");
    trail.stream({{RequestKind::remove_node, 24, 0}});
    CHECK(text_of(trail.world.verify()) == "");
  }

  TEST_CASE("a purge leaves public lines and no nonce, secret or request; the chain goes on after it") {
    const Trail trail;
    const std::string store = trail.world.store.string();
    const ModelRecord record = load_model(store, "newton");
    std::vector<std::string> secrets{record.receipt_secret};
    for (const std::string& part : lines_of(private_log(store, "newton")))
      secrets.push_back(Json::parse(part)["nonce"].get<std::string>());
    for (const std::string& secret : secrets) CHECK(holds(store, secret));
    std::vector<std::string> lines = lines_of(trail.log);
    const std::string newest = lines.back();
    lines.pop_back();
    write_lines(trail.log, lines);  // a crash: the model file alone has the newest
    write_file(trail.world.store / "certificates" / "old.jsonl", "{\"id\":\"old-1\",\"terms\":{\"residual\":1}}\n");
    static_cast<void>(testing::purge(store));
    for (const std::string& secret : secrets) CHECK_FALSE(holds(store, secret));
    CHECK_FALSE(fs::exists(private_log(store, "newton")));
    CHECK_FALSE(fs::exists(trail.world.store / "certificates" / "old.jsonl"));
    CHECK(fs::exists(trail.world.store / "certificates" / "signing-key"));
    REQUIRE(lines_of(trail.log).size() == 4);
    CHECK(lines_of(trail.log).back() == newest);
    CHECK(is_sound(trail.audit(trail.receipts.string())));
    CHECK(trail.world.verify().ok());

    trail.world.train("newton");
    trail.stream({{RequestKind::remove_node, 27, 0}});
    const std::vector<std::string> now = lines_of(trail.log);
    REQUIRE(now.size() == 6);
    CHECK(Json::parse(now[4])["previous"] == Json::parse(newest)["digest"]);
    CHECK(Json::parse(now[4])["withdraw"] == Json{Json::parse(newest)["id"]});
    CHECK(Json::parse(now[5])["sequence"] == 1);
    CHECK(is_sound(trail.audit(trail.receipts.string())));
    check_remark(trail.world.verify(), "those of 1 to 4; a purge removes them");
  }

  TEST_CASE("a log that has lost lines is neither followed nor begun again in the middle; moved away it begins anew") {
    const TrainedStore trained;
    trained.train("newton");
    const Request first = trained.edge_of_training_node();
    trained.stream({first}, {"newton"});
    trained.train("newton");
    const std::vector<Request> later = {{RequestKind::insert_edge, first.u, first.v}};
    const fs::path log = trained.log("newton"), parts = private_log(trained.store, "newton");
    const std::string whole = read_all(log), hidden = read_all(parts);
    const auto check_refused = [&] {
      CHECK_THROWS_AS(trained.stream(later, {"newton"}), DataError);
      CHECK_THROWS_AS(trained.train("newton"), DataError);
    };
    SUBCASE("removed") {
      fs::remove(log);
      check_refused();
      CHECK(!fs::exists(log));
    }
    SUBCASE("cut") {
      const std::string begin = whole.substr(0, whole.find('\n') + 1);
      write_file(log, begin);
      check_refused();
      CHECK(read_all(log) == begin);
      CHECK(read_all(parts) == hidden);
    }
    fs::remove(log);
    fs::remove(parts);
    CHECK_THROWS_AS(trained.stream(later, {"newton"}), DataError);
    trained.train("newton");
    CHECK(place_after(*last_line(log), log).number == 1);
    CHECK(text_of(trained.verify()) == "");
  }

  TEST_CASE("keys: the store's own is for its owner alone; a given one is not copied and must stay the same") {
    const TrainedStore world;
    const fs::path own = world.store / "certificates" / "signing-key";
    fs::remove(own);
    const fs::path given = world.folder / "key";
    write_file(given, std::string(64, 'a') + "\n");
    const auto train = [&](const fs::path& key) {
      StoreWriter live(world.store, ample_budget());
      return Learner::train(live, ample_budget(), "newton", seeded(), live.embedding().spec().weights,
                            {false, "test", {}, key, {}})
          .public_key();
    };
    const std::string first = train(given);
    CHECK_FALSE(fs::exists(own));
    CHECK_FALSE(holds(world.store, std::string(64, 'a')));
    CHECK(train(given) == first);
    CHECK_THROWS_AS(train({}), UsageError);
    CHECK(lines_of(world.log("newton")).size() == 2);
    CHECK(text_of(world.verify()) == "");
    world.train("retrain");  // under the store's own
    CHECK((fs::status(own).permissions() & fs::perms::mask) == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(Json::parse(lines_of(world.log("retrain"))[0])["public_key"] != first);
    for (const char* bad : {"", "12", "zz"}) {
      write_file(given, bad);
      CHECK_THROWS_AS(train(given), DataError);
    }
  }

  TEST_CASE("Ed25519 as RFC 8032 has it, and trees of requests of every size") {
    const testing::TempDir dir;
    write_file(dir / "key", "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    const SigningKey key = SigningKey::read(dir / "key");
    CHECK(key.public_key() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    const Hash message = hash_of("a text"), other = hash_of("another");
    CHECK(is_signature(key.sign(message), message, key.public_key()));
    CHECK_FALSE(is_signature(key.sign(message), other, key.public_key()));
    CHECK_FALSE(is_signature(key.sign(message), message, std::string(64, '0')));
    CHECK_FALSE(is_signature("", message, key.public_key()));

    for (std::size_t count = 1; count < 40; ++count) {
      std::vector<Hash> leaves;
      for (std::size_t i = 0; i < count; ++i) leaves.push_back(leaf_of(nonce_of(message, i), std::to_string(i)));
      const RequestTree tree(leaves);
      for (std::size_t i = 0; i < count; ++i) {
        CHECK(root_of(leaves[i], i, count, tree.path(i)) == tree.root());
        if (count > 1) CHECK(root_of(leaves[i], (i + 1) % count, count, tree.path(i)) != tree.root());
      }
    }
  }
}

}  // namespace
}  // namespace unweave
