// tests/tools/commands/trail_test.cpp - the audit trail as programs call it: keys, receipts, logs
// without a store, exit codes.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::read_all;
using testing::Result;
using testing::run;
using testing::write_file;

TEST_SUITE("unit") {
  TEST_CASE("train prints the public key, stream writes receipts, verify checks both without the store") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), receipts = (dir / "receipts").string(),
                      key = (dir / "key").string(), log = store + "/certificates/newton.jsonl";
    testing::write_store(store, testing::random_store(120, 400, 5, 9));
    testing::propagate_store(store, testing::tiny_spec(2, false));
    write_file(key, std::string(64, 'b') + "\n");
    write_file(dir / "requests", "node 3\nnode 4\nedge 5 5\n");
    const Result trained = run({"train", store, "--solver", "newton", "--json", "--key", key});
    REQUIRE(trained.code == 0);
    const std::string public_key = trained.json()["public_key"];
    const std::vector<std::string> stream{"stream",  store,        "--requests", (dir / "requests").string(),
                                          "--batch", "2",          "--solver",   "newton",
                                          "--json",  "--receipts", receipts};
    CHECK(run(stream).code == 1);  // the key is not in the store
    std::vector<std::string> signed_stream = stream;
    signed_stream.insert(signed_stream.end(), {"--key", key});
    REQUIRE(run(signed_stream).code == 0);
    CHECK_FALSE(std::filesystem::exists(store + "/certificates/signing-key"));

    const Result good = run({"verify", log, "--public-key", public_key, "--receipts", receipts, "--json"});
    CHECK(good.code == 0);
    CHECK(good.json()["certificates"] == 3);
    CHECK(good.json()["receipts"] == 3);
    CHECK(run({"verify", store, "--public-key", public_key, "--json"}).json()["certificates"] == 3);
    const std::string other(64, '0');
    CHECK(run({"verify", log, "--public-key", other}).code == 4);
    CHECK(run({"verify", store, "--public-key", other}).code == 4);

    std::string text = read_all(receipts);
    write_file(receipts, text.replace(text.find("node 3"), 6, "node 7"));
    const Result foreign = run({"verify", log, "--receipts", receipts});
    CHECK(foreign.code == 4);
    CHECK(foreign.error.find(receipts + ": line 1: its certificate does not cover this request") != std::string::npos);
    write_file(receipts, "no receipt\n");
    CHECK(run({"verify", log, "--receipts", receipts}).code == 2);
    CHECK(run({"verify", log, "--receipts", (dir / "missing").string()}).code == 1);
    const testing::Result nowhere = run({"verify", (dir / "missing").string()});
    CHECK(nowhere.code == 2);
    CHECK(nowhere.out.empty());
    CHECK(nowhere.error.find("missing: no such file or folder") != std::string::npos);
    write_file(log, "no certificate\n");
    CHECK(run({"verify", log}).code == 2);
  }

  TEST_CASE("verify says what a log does not prove: whose key it is, releases without a theorem, weights") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    testing::write_store(store, testing::random_store(120, 400, 5, 9));
    testing::propagate_store(store, testing::tiny_spec(2, false));
    const std::string key = run({"train", store, "--solver", "newton", "--json"}).json()["public_key"];
    REQUIRE(run({"train", store, "--solver", "finetune"}).code == 0);
    const auto log = [&](const std::string& name) { return store + "/certificates/" + name + ".jsonl"; };
    const auto says = [](const Result& result, const std::string& words) {
      return result.out.find(words) != std::string::npos;
    };
    const std::string unsigned_words = "signed under " + key + ", a key that only this file names",
                      unproved_words = "are not certified, so that no theorem stands behind these releases: 1\n",
                      unchecked_words = "all checks hold; weights and data were not checked";

    const Result known = run({"verify", log("newton"), "--public-key", key});
    CHECK(known.code == 0);
    CHECK_FALSE(says(known, "note: "));
    CHECK(says(known, unchecked_words));
    for (const char* const label : {"arcs", "rows", "reader counts", "models"}) CHECK_FALSE(says(known, label));
    CHECK_FALSE(says(known, "whose key signed it"));
    const Result unkeyed = run({"verify", log("newton")});
    CHECK(says(unkeyed, unsigned_words));
    CHECK(says(unkeyed, "nor was whose key signed it"));
    const std::string whole = testing::read_all(log("newton"));
    write_file(log("newton"), whole.substr(0, whole.size() - 20));
    const Result cut = run({"verify", log("newton"), "--public-key", key});
    CHECK(cut.code == 2);
    CHECK(cut.error.find("cut inside its last line") != std::string::npos);
    CHECK_FALSE(says(cut, "all checks hold"));
    write_file(log("newton"), whole);

    const Result unproved = run({"verify", log("finetune"), "--public-key", key});
    CHECK(unproved.code == 0);
    CHECK_FALSE(says(unproved, "signed under"));
    CHECK(says(unproved, unproved_words));
    const auto remarks = run({"verify", log("finetune"), "--json"}).json()["remarks"];
    CHECK(remarks.size() == 2);

    const std::string model = (dir / "w.npy").string();
    REQUIRE(run({"export", store, "--model", model, "--solver", "finetune"}).code == 0);
    const Result exported = run({"verify", model});
    CHECK(exported.code == 0);
    CHECK(says(exported, unsigned_words));
    CHECK(says(exported, unproved_words));
    CHECK(says(exported, "that training leads to these weights was not checked"));
    CHECK_FALSE(says(run({"verify", model, "--public-key", key}), "signed under"));
    CHECK_FALSE(says(run({"verify", store}), "not checked"));
  }

  TEST_CASE("verify names the file that is meant in the place of another one, and not all of many errors") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), receipts = (dir / "receipts").string();
    testing::write_store(store, testing::random_store(120, 400, 5, 9));
    testing::propagate_store(store, testing::tiny_spec(2, false));
    for (const char* const solver : {"newton", "retrain"}) REQUIRE(run({"train", store, "--solver", solver}).code == 0);
    std::string lines;
    for (int node = 0; node < 30; ++node) lines += "node " + std::to_string(node) + "\n";
    write_file(dir / "requests", lines);
    REQUIRE(
        run({"stream", store, "--requests", (dir / "requests").string(), "--solver", "newton", "--receipts", receipts})
            .code == 0);
    const std::string folder = store + "/certificates/";
    const auto refused = [&](const std::string& file, const std::string& words) {
      const Result result = run({"verify", file});
      CAPTURE(result.error);
      CHECK(result.code == 2);
      CHECK(result.error.find(words) != std::string::npos);
      CHECK(result.error.find("from a copy") == std::string::npos);
    };
    refused(receipts, "line 1: this is a receipt; give receipts with --receipts");
    refused(folder + "newton.private.jsonl", "line 1: this is the private part of a certificate; name the public log");
    REQUIRE(run({"export", store, "--model", (dir / "w.npy").string(), "--solver", "retrain"}).code == 0);
    refused((dir / "w.jsonl").string(), "line 2: this is the key of an exported model; name the model");

    const Result foreign = run({"verify", folder + "retrain.jsonl", "--receipts", receipts});
    CHECK(foreign.code == 4);
    CHECK(foreign.out.find(receipts + ": line 20: its certificate is not in the log\nand 10 more; --json") !=
          std::string::npos);
    CHECK(foreign.out.find("line 21") == std::string::npos);
    CHECK(foreign.error.find("30 errors") != std::string::npos);
    CHECK(run({"verify", folder + "retrain.jsonl", "--receipts", receipts, "--json"}).json()["errors"].size() == 30);
  }

  TEST_CASE("options that do not go together are wrong usage") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), file = (dir / "f").string();
    testing::write_store(store, testing::random_store(20, 40, 2, 1));
    write_file(file, "");
    CHECK(run({"verify", store, "--receipts", file}).code == 1);
    CHECK(run({"verify", store, "--public-key", "12"}).code == 1);
    CHECK(run({"verify", file, "--rebuild"}).code == 1);
    CHECK(run({"verify", file, "--sample", "3"}).code == 1);
    CHECK(run({"stream", store, "--requests", file, "--receipts", file}).code == 1);
    CHECK(run({"stream", store, "--requests", file, "--key", file}).code == 1);
  }
}

}  // namespace
}  // namespace unweave
