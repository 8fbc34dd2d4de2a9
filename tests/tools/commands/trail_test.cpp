// tests/tools/commands/trail_test.cpp - the audit trail as programs call it: keys, receipts, logs without a store, exit codes.
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
    write_file(log, "no certificate\n");
    CHECK(run({"verify", log}).code == 2);
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
