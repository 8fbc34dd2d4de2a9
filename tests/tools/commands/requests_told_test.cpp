// tests/tools/commands/requests_told_test.cpp - what `stream` says of requests that it rejects, of
// lines that it cannot read, and of what is acknowledged when it ends early.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "tools/commands/acknowledged.h"

namespace unweave {
namespace {

using Json = nlohmann::json;
using testing::lines_of;
using testing::read_all;
using testing::Result;
using testing::run;
using testing::write_file;

/// The path 0-1-2 with labels at both ends.
struct PathStore {
  testing::TempDir dir;
  std::string store = (dir / "s").string(), requests = (dir / "requests").string(),
              rejected = (dir / "rejected").string();

  PathStore() {
    testing::write_store(store, testing::path_of_three());
    testing::propagate_store(store, testing::tiny_spec(2, false));
  }
  [[nodiscard]] Result stream(const std::string& text, const std::vector<std::string>& more = {}) const {
    write_file(requests, text);
    std::vector<std::string> words{"stream", store, "--requests", requests};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  [[nodiscard]] std::uint64_t acknowledged() const {
    return run({"info", store, "--json"}).json().at("acknowledged").get<std::uint64_t>();
  }
};

const std::string kMixed =
    "# four of these change nothing\nedge 0 1\nedge 0 1\nnode 999999\n\ninsert-edge 2 2\nedge 0 2\n";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("--json lists every rejected request of a batch with its reason; the summary is on standard error") {
    const PathStore world;
    const Result told = world.stream(kMixed, {"--json", "--batch", "3"});
    REQUIRE(told.code == 0);
    const auto lines = told.lines();
    REQUIRE(lines.size() == 2);
    CHECK(lines[0]["applied"] == 1);
    CHECK(lines[0]["rejected"] == 2);
    CHECK(lines[0]["rejections"] == Json::parse(R"([{"request":"edge 0 1","reason":"repeated","sequence":2,"line":3},
                          {"request":"node 999999","reason":"id-outside","sequence":3,"line":4}])"));
    CHECK(lines[1]["rejections"][0] ==
          Json::parse(R"({"request":"insert-edge 2 2","reason":"self-loop","sequence":4,"line":6})"));
    CHECK(lines[1]["rejections"][1]["reason"] == "absent-edge");
    CHECK(has(told.error,
              "all requests: 1 applied, 4 rejected: 1 id-outside, 1 self-loop, 1 absent-edge, 1 repeated; "
              "--rejected F writes them to a file\n"));
    CHECK(world.stream("edge 1 2\n", {"--json"}).json()["rejections"] == Json::array());
  }

  TEST_CASE("requests: what is left to do comes with the command that does it") {
    const PathStore world;
    REQUIRE(world.stream("edge 0 2 id=A\nedge 0 1 id=B\n").code == 0);
    const std::string told = run({"requests", world.store}).out;
    CHECK(has(told, "A: edge, rejected (absent-edge) at "));
    CHECK(has(told,
              "there is no such edge: it was removed before, or never there; where an earlier request has removed it, "
              "files hold it until a purge (`unweave purge " +
                  world.store + "`)\n"));
    CHECK(has(told, "files still hold what it removed (`unweave purge " + world.store + "`)\n"));
    CHECK(run({"requests", world.store, "--forget-before", "2999-01-01"}).out == "forgotten: 2 requests\n");
    REQUIRE(world.stream("edge 1 2 id=C\n").code == 0);
    CHECK(run({"requests", world.store, "--forget-before", "2999-01-01"}).out == "forgotten: 1 request\n");
  }

  TEST_CASE("requests: a duplicate under another id tells what became of the one that did it") {
    const PathStore world;
    REQUIRE(world.stream("node 0 id=A\nnode 0 id=B\nmove-split 1 train id=C\n").code == 0);
    REQUIRE(world.stream("node 0 id=D\n").code == 0);
    const auto told = [&](const std::string& id) { return run({"requests", world.store, "--id", id}); };
    for (const char* const id : {"B", "D"}) {
      CHECK(has(told(id).out, "; request 1 (A) asked for the same and was applied at 2"));
      CHECK(has(told(id).out, "; files still hold what it removed (`unweave purge " + world.store + "`)\n"));
      CHECK_FALSE(has(told(id).out, "send it"));
    }
    CHECK(has(told("C").out, "; if more was meant, send it, mended, with another id\n"));
    CHECK(run({"requests", world.store, "--pending", "--json"}).lines().size() == 3);
    const Json before = run({"requests", world.store, "--id", "B", "--json"}).json();
    CHECK(before.at("earlier").at("sequence") == 1);
    CHECK(before.at("earlier").at("id") == "A");
    CHECK(before.at("purged") == false);
    CHECK(before.at("settled") == false);
    REQUIRE(run({"purge", world.store}).code == 0);
    CHECK(has(told("D").out, "; the store was purged since; nothing is left to do\n"));
    CHECK(run({"requests", world.store, "--id", "D", "--json"}).json().at("settled") == true);
    CHECK(run({"requests", world.store, "--pending"}).out.empty());
  }

  TEST_CASE("a line whose id stands for another request ends the stream; those before it are applied, none behind it") {
    const PathStore world;
    REQUIRE(world.stream("node 0 id=A\n").code == 0);
    for (const char* const batch : {"1", "100"}) {
      const std::string number = batch;
      const Result told = world.stream(
          "# a remark\nnode 0 id=A\nedge 1 2 id=B" + number + "\nnode 1 id=A\nnode 2 id=C\n", {"--batch", batch});
      CHECK(told.code == 2);
      CHECK(has(told.error,
                world.requests +
                    ": line 4: the id A stands for another request already: request 1 (node), acknowledged at 2"));
      CHECK(has(told.error, "give this request an id of its own; `unweave requests " + world.store + " --id A` says"));
      CHECK(has(told.error, "requests 1 to 2 of " + world.requests + " are acknowledged"));
      CHECK(told.error.find("unweave: ") == told.error.rfind("unweave: "));  // one error, beside notes
    }
    CHECK(world.acknowledged() == 5);
    const Result strict = world.stream("edge 0 1 id=S\nnode 1 id=A\n", {"--strict"});
    CHECK(strict.code == 2);
    CHECK(has(strict.error, "no request of " + world.requests + " is acknowledged"));
    CHECK(has(world.stream("edge 0 1 id=T\nedge 1 0 id=T\nnode 2 id=T\n").error,
              "line 3: the id T stands for line 1, which asks for something else"));
    CHECK(world.acknowledged() == 7);
    // What is read as it comes goes on without it.
    const std::string bad = (world.dir / "bad").string();
    const Result goes_on = world.stream("node 1 id=A\nedge 1 2 id=U\nnode 2 id=A\nnode 2 id=V\n",
                                        {"--every", "1min", "--quarantine", bad, "--json"});
    CHECK(goes_on.code == 0);
    CHECK(goes_on.json().at("requests") == 2);
    const std::string quarantined = read_all(bad);
    CHECK(std::count(quarantined.begin(), quarantined.end(), '\n') == 2);
    CHECK(has(quarantined, "\tnode 1 id=A\tthe id A stands for another request already: request 1 (node)"));
    CHECK(has(quarantined, "\tnode 2 id=A\t"));
    CHECK(run({"requests", world.store, "--id", "V"}).code == 0);
  }

  TEST_CASE("nodes and features expire as edges do, and are listed under the id of the note") {
    const PathStore world;
    REQUIRE(
        world
            .stream(
                "node 0 expires 2001-01-01 id=N\nfeature 2 expires 2001-01-02T00:00Z id=F\nnode 1 expires 2999-01-01\n",
                {"--quiet"})
            .code == 0);
    CHECK(run({"info", world.store, "--json"}).json().at("expiries") == 3);
    const Result told = run({"stream", world.store, "--expired", "--json"});
    CHECK(told.code == 0);
    CHECK(told.json().at("nodes_removed") == 1);
    CHECK(told.json().at("features_removed") == 1);
    CHECK(run({"info", world.store, "--json"}).json().at("next_expiry") == "2999-01-01T00:00:00.000Z");
    const std::string listed = run({"requests", world.store}).out;
    CHECK(has(listed, "N: expires, applied at "));
    CHECK(has(listed, "N: node that was to expire, applied at "));
    CHECK(has(listed, "F: feature that was to expire, applied at "));
    CHECK(run({"requests", world.store, "--id", "N", "--json"}).lines().at(1).at("expired") == true);
  }

  TEST_CASE("info tells the requests since the last purge") {
    const PathStore world;
    REQUIRE(world.stream("edge 0 1\nedge 0 1\n").code == 0);
    const auto since = [&] {
      std::istringstream table(run({"info", world.store}).out);
      for (std::string line; std::getline(table, line);)
        if (line.starts_with("requests since purge ")) return line.substr(line.rfind(' ') + 1);
      return std::string("not told");
    };
    CHECK(since() == "2");
    REQUIRE(run({"purge", world.store}).code == 0);
    CHECK(since() == "0");
    REQUIRE(world.stream("edge 1 2\n").code == 0);
    CHECK(since() == "1");
  }

  TEST_CASE("propagate says how many nodes get no row, unless the rows were chosen") {
    const PathStore world;
    const Result told = run({"propagate", world.store, "--json"});
    CHECK(told.json()["nodes_without_row"] == 1);
    CHECK(has(told.error, "note: 1 node without a label gets no row of the embedding"));
    CHECK(has(told.error, "--rows all"));
    const Result chosen = run({"propagate", world.store, "--json", "--rows", "labelled"});
    CHECK(chosen.json()["nodes_without_row"] == 1);
    CHECK_FALSE(has(chosen.error, "no row"));
    const Result all = run({"propagate", world.store, "--json", "--rows", "all"});
    CHECK(all.json()["nodes_without_row"] == 0);
    CHECK_FALSE(has(all.error, "no row"));
  }

  TEST_CASE("text names the first rejected requests of a batch and counts the rest; --quiet and --public say less") {
    const PathStore world;
    const std::string text = world.stream(kMixed).out;
    CHECK(has(
        text,
        "applied 1, rejected 4 (edge 0 1: repeated; node 999999: id-outside; insert-edge 2 2: self-loop; and 1 more), "));
    CHECK(has(text, "\nall requests: 1 applied, 4 rejected: "));
    const Result quiet = world.stream(kMixed, {"--quiet"});
    CHECK(has(quiet.out, "rejected 5 (edge 0 1: absent-edge; "));
    CHECK_FALSE(has(quiet.out, "all requests"));
    for (const std::vector<std::string>& more : {std::vector<std::string>{"--public"}, {"--public", "--json"}}) {
      const Result published = world.stream(kMixed, more);
      REQUIRE(published.code == 0);
      for (const char* word : {"rejec", "applied", "999999"}) CHECK_FALSE(has(published.out + published.error, word));
    }
  }

  TEST_CASE("--rejected appends every rejected request with its reason and number, for its owner alone") {
    const PathStore world;
    const Result told = world.stream(kMixed, {"--rejected", world.rejected});
    CHECK(has(told.out, "; they are in " + world.rejected));
    const std::string first =
        "edge 0 1\trepeated\t2\nnode 999999\tid-outside\t3\ninsert-edge 2 2\tself-loop\t4\n"
        "edge 0 2\tabsent-edge\t5\n";
    CHECK(read_all(world.rejected) == first);
    CHECK((std::filesystem::status(world.rejected).permissions() & std::filesystem::perms(0077)) ==
          std::filesystem::perms::none);
    write_file(world.rejected, first + "node 99");  // a crash
    CHECK(world.stream("edge 1 2\nedge 1 2\n", {"--rejected", world.rejected, "--public"}).code == 0);
    CHECK(read_all(world.rejected) == first + "edge 1 2\trepeated\t7\n");
    write_file(world.rejected, "insert-");
    CHECK(world.stream("node 7\n", {"--rejected", world.rejected}).code == 0);
    CHECK(read_all(world.rejected) == "node 7\tid-outside\t8\n");

    for (const std::string& other : {std::string("edge 0 1\n"), std::string("my diary"), std::string("a\tb\tc\n")}) {
      write_file(world.rejected, other);
      const Result refused = world.stream("node 1\n", {"--rejected", world.rejected});
      CHECK(refused.code == 2);
      CHECK(has(refused.error, "this is no list of rejected requests; name another file"));
      CHECK(read_all(world.rejected) == other);
    }
    CHECK(world.stream("node 1\n", {"--rejected", world.store + "/rejected"}).code == 1);
    CHECK(world.stream("node 1\n", {"--rejected", "-"}).code == 1);
    CHECK(world.stream("node 1\n", {"--rejected", "f", "--receipts", "f", "--solver", "newton"}).code == 1);
    CHECK(world.stream("node 1\n", {"--rejected", world.requests}).code == 2);
    CHECK(world.acknowledged() == 8);
  }

  TEST_CASE("--strict names all rejected requests of the batch, twenty at most, and what is acknowledged before it") {
    const PathStore world;
    const Result none = world.stream("node 3\nedge 0 1\nedge 1 1\n", {"--strict", "--rejected", world.rejected});
    CHECK(none.code == 2);
    CHECK(has(none.error,
              "requests: line 1: node 3: id-outside; line 3: edge 1 1: self-loop; --strict refuses the batch of "
              "3 requests, all rejected ones of which are in " +
                  world.rejected));
    CHECK(has(none.error, "no request of " + world.requests + " is acknowledged: mend it and send it again"));
    CHECK(read_all(world.rejected) == "node 3\tid-outside\t-\nedge 1 1\tself-loop\t-\n");
    CHECK(world.acknowledged() == 0);
    std::string many = "edge 0 1\n# next\nedge 1 2\n";
    for (int i = 0; i < 30; ++i) many += "node " + std::to_string(100 + i) + "\n";
    const Result refused = world.stream(many, {"--strict", "--batch", "2", "--json"});
    CHECK(refused.lines().size() == 1);
    CHECK(has(refused.error,
              "line 4: node 100: id-outside; line 5: node 101: id-outside; --strict refuses the batch of 2 "));
    CHECK(has(refused.error, "requests 1 to 2 of " + world.requests +
                                 " are acknowledged: mend it and send the rest, from "
                                 "line 4 on (`tail -n +4 " +
                                 world.requests + "`)\n"));
    const Result long_one = world.stream(many, {"--strict"});
    CHECK(has(long_one.error, "; and 12 more; --strict"));
    CHECK_FALSE(has(long_one.error, "node 118:"));
    CHECK(has(long_one.error, "node 117: "));
    CHECK(world.acknowledged() == 2);
  }

  TEST_CASE("a line that is no request says what is wrong with it, what is acknowledged and how to go on") {
    const PathStore world;
    const std::string behind = "in lower case, with a blank, a tab or a comma behind it; no request of ";
    const std::vector<std::pair<std::string, std::vector<std::string>>> lines{
        {"Node 1", {"no request 'Node' (did you mean 'node'?)", behind}},
        {"{\"op\":\"node\"}", {"no request '{\"op\":\"node\"}'", behind}},
        {"node", {"the node is missing", "write `node U`"}},
        {"edge 1", {"the second node is missing", "write `edge U V`"}},
        {"edge 1 2 3", {"'3' is a word too many", "write `edge U V`"}},
        {"node x", {"'x' is no node id", "U is a whole number from 0, or the name of a node"}},
        {"edge;1;2", {"no request 'edge;1;2'", behind}}};
    for (const auto& one : lines) {
      const Result bad = world.stream(one.first + "\n");
      CAPTURE(one.first);
      CHECK(bad.code == 2);
      for (const std::string& part : one.second) CHECK(has(bad.error, part));
      CHECK(has(bad.error, "no request of " + world.requests + " is acknowledged: mend it and send it again\n"));
    }
    const Result late = world.stream("edge 0,1\nnode 9\n  edge\t1 , 2\nfeatur 1\nnode 1\n", {"--batch", "2", "--json"});
    CHECK(late.code == 2);
    REQUIRE(late.lines().size() == 2);
    CHECK(late.lines()[0]["applied"] == 1);
    CHECK(late.lines()[1]["applied"] == 1);
    CHECK(has(late.error, "requests 1 to 3 of " + world.requests +
                              " are acknowledged: mend it and send the rest, from line 4 on (`tail -n +4 " +
                              world.requests + "`)\n"));
    CHECK(world.acknowledged() == 3);
  }

  TEST_CASE("edges whose time has come are no requests of the file, whose lines are counted from its beginning") {
    const auto expire = [](const PathStore& world) {
      REQUIRE(world.stream("edge 0 1 expires 2001-01-01\nedge 1 2 expires 2001-01-01\n", {"--quiet"}).code == 0);
    };
    const PathStore none;
    expire(none);
    const Result bad = none.stream("# a remark\nnonsense\n", {"--expired"});
    CHECK(bad.code == 2);
    CHECK(has(bad.error, "no request of " + none.requests + " is acknowledged: mend it and send it again\n"));
    CHECK(none.acknowledged() == 4);
    const PathStore some;
    expire(some);
    CHECK(has(some.stream("node 2\nnonsense\n", {"--expired", "--batch", "1"}).error,
              "request 1 of " + some.requests + " is acknowledged: mend it and send the rest, from line 2 on"));
    const PathStore alone;
    expire(alone);
    const Result told = run({"stream", alone.store, "--expired"});
    CHECK(told.code == 0);
    CHECK(has(told.out, "all requests: 2 applied, 0 rejected"));
    CHECK(has(run({"stream", alone.store, "--expired"}).error, "nothing has expired"));
    CHECK(Acknowledged("").text(false) ==
          "what the batches that were printed speak of is removed; the same command removes the rest");
  }

  TEST_CASE("an input without requests says so on standard error") {
    const PathStore world;
    for (const std::string text : {"", "# nothing\n\n"}) {
      const Result empty = world.stream(text, {"--json"});
      CHECK(empty.code == 0);
      CHECK(empty.out.empty());
      CHECK(empty.error == "unweave: " + world.requests + " holds no requests\n");
      CHECK(world.stream(text, {"--quiet"}).error.empty());
    }
  }

  TEST_CASE("where to go on is said as a command that a shell understands, where there is one") {
    const testing::TempDir dir;
    const std::string plain = write_file(dir / "r.txt", "").string(), odd = write_file(dir / "r's 1", "").string(),
                      packed = write_file(dir / "r.zst", "").string();
    const auto text = [](const std::string& file, bool mended) {
      Acknowledged acknowledged(file);
      acknowledged.begin();
      acknowledged.end(1, 1);
      acknowledged.begin();
      acknowledged.end(59, 70);
      return acknowledged.text(mended);
    };
    CHECK(text(plain, false) == "requests 1 to 60 of " + plain +
                                    " are acknowledged: the rest begins at line 71 (`tail -n +71 " + plain + "`)");
    CHECK(has(text(odd, true), "`tail -n +71 '" + (dir / "r").string() + "'\\''s 1'`"));
    CHECK_FALSE(has(text(packed, false), "tail"));
    CHECK(text("-", false) == "requests 1 to 60 of standard input are acknowledged: the rest begins at line 71");
    CHECK(Acknowledged("-").text(false) == "no request of standard input is acknowledged");
  }

  TEST_CASE("Ctrl-C and SIGTERM say what is acknowledged, and the store holds just that") {
    for (const int signal : {SIGINT, SIGTERM}) {
      const PathStore world;
      const std::string out = (world.dir / "out").string(), error = (world.dir / "error").string();
      int ends[2];
      REQUIRE(::pipe(ends) == 0);
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        for (const int each : {SIGINT, SIGTERM}) ::signal(each, SIG_DFL);
        ::dup2(ends[0], STDIN_FILENO);
        ::close(ends[1]);
        ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
        ::dup2(::open(error.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
        ::execl(UNWEAVE_BINARY, "unweave", "stream", world.store.c_str(), "--requests", "-", "--batch", "2", "--json",
                nullptr);
        ::_exit(127);
      }
      const std::string sent = "edge 0 1\n# two and a half batches\nnode 5\nedge 1 2\nnode 6\nnode 7\n";
      REQUIRE(::write(ends[1], sent.data(), sent.size()) == static_cast<ssize_t>(sent.size()));
      for (int i = 0; i < 3000 && lines_of(out).size() < 2; ++i) ::usleep(10'000);
      ::kill(child, signal);
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      for (const int end : ends) ::close(end);
      CHECK((WIFSIGNALED(status) && WTERMSIG(status) == signal));  // 128 + signal in a shell
      CHECK(read_all(error) ==
            "unweave: interrupted: requests 1 to 4 of standard input are acknowledged: the rest begins at line 6\n");
      CHECK(world.acknowledged() == 4);
      CHECK(run({"verify", world.store}).code == 0);
    }
  }

  TEST_CASE("a receipt says whether its request was applied, and verify counts both") {
    const PathStore world;
    REQUIRE(run({"train", world.store, "--solver", "newton"}).code == 0);
    const std::string receipts = (world.dir / "receipts").string(), log = world.store + "/certificates/newton.jsonl";
    REQUIRE(world.stream(kMixed, {"--solver", "newton", "--receipts", receipts}).code == 0);
    std::vector<std::string> told;
    for (const std::string& line : lines_of(receipts)) {
      const Json receipt = Json::parse(line);
      told.push_back(receipt["status"].get<std::string>() + " " + receipt.value("reason", "-"));
    }
    CHECK(told == std::vector<std::string>{"applied -", "rejected repeated", "rejected id-outside",
                                           "rejected self-loop", "rejected absent-edge"});
    const Json checked = run({"verify", log, "--receipts", receipts, "--json"}).json();
    CHECK(checked["receipts"] == 5);
    CHECK(checked["receipts_applied"] == 1);
    CHECK(checked["receipts_rejected"] == 4);
    CHECK(has(run({"verify", log, "--receipts", receipts}).out, "receipts of rejected requests"));
    std::string forged = read_all(receipts);
    const std::string lie = R"("status":"rejected","reason":"id-outside")";
    REQUIRE(has(forged, lie));
    write_file(receipts, forged.replace(forged.find(lie), lie.size(), R"("status":"applied")"));
    const Result found = run({"verify", log, "--receipts", receipts});
    CHECK(found.code == 4);
    CHECK(has(found.error, "line 3: its certificate does not cover this request with this outcome"));
  }

  TEST_CASE("receipts of one file do not come into another") {
    const PathStore world;
    REQUIRE(run({"train", world.store, "--solver", "newton"}).code == 0);
    const std::string first = (world.dir / "first").string(), second = (world.dir / "second").string();
    REQUIRE(world.stream("edge 0 1\n", {"--solver", "newton", "--receipts", first}).code == 0);
    REQUIRE(world.stream("edge 1 2\n", {"--solver", "newton", "--receipts", second}).code == 0);
    const std::vector<std::string> lines = lines_of(second);
    REQUIRE(lines.size() == 1);
    CHECK(Json::parse(lines[0])["request"].get<std::string>().starts_with("edge 1 2 at=20"));
    // What the newest certificate has, no other file gets again either.
    REQUIRE(world.stream("edge 2 3\n", {"--solver", "newton", "--receipts", first}).code == 0);
    CHECK(lines_of(first).size() == 2);
    CHECK((std::filesystem::status(first).permissions() & std::filesystem::perms::all) ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    const Result dash = world.stream("edge 3 4\n", {"--solver", "newton", "--receipts", "-"});
    CHECK(dash.code == 1);
    CHECK(has(dash.error, "--receipts: name a file"));
    CHECK(world.acknowledged() == 3);
    const Result swapped = run({"verify", first});
    CHECK(swapped.code == 2);
    CHECK(has(swapped.error, "this is a receipt; give receipts with --receipts"));
    CHECK(has(run({"verify", first + ".jsonl"}).error, "no such file"));
  }

  TEST_CASE("the help of stream has the table of what requests do, in 80 columns") {
    const std::string help = run({"stream", "--help"}).out;
    std::istringstream lines(help.substr(0, help.find("Options:")));
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
    for (const char* part :
         {"What a request does", "node U", "insert-edge U V", "id-outside", "self-loop", "absent-edge", "present-edge",
          "empty-node", "no-features", "repeated", "the word in lower case"})
      CHECK_MESSAGE(has(help, part), part);
  }
}

}  // namespace unweave
