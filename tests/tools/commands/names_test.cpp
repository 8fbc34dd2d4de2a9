// tests/tools/commands/names_test.cpp - stores of names as users meet them: import, predict,
// export, stream, feed, purge.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "storage/io/plain_text.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using Json = nlohmann::json;
using testing::check_message;
using testing::read_all;
using testing::Result;
using testing::run;
using testing::TempDir;
using testing::write_file;

/// Ten people in a ring, two without features, one node without a name.
struct People {
  TempDir dir;
  std::string store = (dir / "s").string();
  const std::vector<std::string> names{"ann", "bob", "", "cyd", "dan", "eve", "flo", "gus", "hal", "ida"};

  People() {
    std::string ids, edges = "source,target\n";
    std::vector<float> rows;
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < names.size(); ++i) {
      ids += names[i] + "\n";
      rows.push_back(i % 2 == 0 ? 0.5F : -0.25F);
      rows.push_back(static_cast<float>(i) / 20);
      labels.push_back(i == 2 || i == 9 ? -1 : static_cast<std::int32_t>(i % 2));
      const std::size_t next = i == 1 ? 3 : (i + 1) % names.size();
      if (i != 2) edges += names[i] + "," + names[next] + "\n";
    }
    write_file(dir / "ids.txt", ids);
    write_file(dir / "e.csv", edges);
    write_file(dir / "x.npy", testing::npy("<f4", "(10, 2)", rows));
    write_file(dir / "y.npy", testing::npy("<i4", "(10,)", labels));
    write_file(dir / "train.txt", "ann\nbob\ncyd\ndan\neve\nflo\n");
    write_file(dir / "test.txt", "gus\nhal\n");
    const Result result = import({});
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    CHECK(result.json().at("named") == 9);
    CHECK(result.error.find("skipped as a header line") != std::string::npos);
  }
  [[nodiscard]] std::string file(const char* name) const { return (dir / name).string(); }
  [[nodiscard]] Result import(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"import",     more.empty() ? store : file("other"),
                                   "--edges",    file("e.csv"),
                                   "--ids",      file("ids.txt"),
                                   "--features", file("x.npy"),
                                   "--labels",   file("y.npy"),
                                   "--split",    "train=" + file("train.txt") + ",test=" + file("test.txt"),
                                   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  void train() const {
    REQUIRE(run({"propagate", store, "--hops", "2", "--quiet"}).code == 0);
    REQUIRE(run({"train", store, "--quiet"}).code == 0);
  }
  [[nodiscard]] Result stream(const std::string& text, const std::vector<std::string>& more) const {
    write_file(dir / "r.txt", text);
    std::vector<std::string> words{"stream", store, "--requests", file("r.txt")};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("predictions and exports speak of names, arrays of numbers") {
    const People people;
    people.train();
    const Result lines = run({"predict", people.store, "--quiet"});
    CHECK(lines.out.find("id\tclass\tscore\tprobability\nann\t") == 0);
    CHECK(lines.out.find("\nhal\t") != std::string::npos);
    const auto objects = run({"predict", people.store, "--json", "--quiet"}).lines();
    REQUIRE(objects.size() == 8);
    CHECK(objects[1].at("id") == "bob");
    write_file(people.dir / "some.txt", "hal\nann\n");
    CHECK(run({"predict", people.store, "--nodes", people.file("some.txt"), "--quiet"}).out.find("\nhal\t") <
          run({"predict", people.store, "--nodes", people.file("some.txt"), "--quiet"}).out.find("\nann\t"));
    write_file(people.dir / "some.txt", "hal\nzoe\n");
    const Result unknown = run({"predict", people.store, "--nodes", people.file("some.txt")});
    CHECK(unknown.code == 2);
    check_message(unknown.error.substr(0, unknown.error.size() - 1), {"some.txt", "line 2", "'zoe'"});
    write_file(people.dir / "some.txt", "ida\n");
    const Result without = run({"predict", people.store, "--nodes", people.file("some.txt")});
    CHECK(without.code == 1);
    CHECK(without.error.find("node ida has no embedding") != std::string::npos);

    CHECK(run({"export", people.store, "--embeddings", people.file("z.npy"), "--ids", people.file("z.txt"), "--missing",
               "nan"})
              .code == 0);
    CHECK(read_all(people.dir / "z.txt") == "ann\nbob\n#2\ncyd\ndan\neve\nflo\ngus\nhal\nida\n");
    CHECK(run({"export", people.store, "--names", people.file("n.txt")}).code == 0);
    CHECK(read_all(people.dir / "n.txt") == read_all(people.dir / "ids.txt"));
    CHECK(run({"export", people.store, "--requests", people.file("q.txt"), "--draw", "edge", "--count", "2"}).code ==
          0);
    const Result drawn = run({"stream", people.store, "--requests", people.file("q.txt"), "--json", "--quiet"});
    CHECK(drawn.json().at("applied") == 2);
    CHECK(run({"info", people.store, "--json"}).json().at("named") == 9);
  }

  TEST_CASE("requests by name; an unknown name is rejected by its name") {
    const People people;
    people.train();
    const Result result = people.stream("node bob\nedge ann zoe\nnode zac\nedge\tcyd,dan\nnode #2\nnode #99\n",
                                        {"--json", "--quiet", "--solver", "exact", "--rejected", people.file("rej.tsv"),
                                         "--receipts", people.file("rec"), "--changes", people.file("feed")});
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    const Json json = result.json();
    CHECK(json.at("applied") == 3);
    REQUIRE(json.at("rejections").size() == 3);
    CHECK(json.at("rejections")[0].at("request") == "edge ann zoe");
    CHECK(json.at("rejections")[0].at("reason") == "id-outside");
    CHECK(json.at("rejections")[1].at("request") == "node zac");
    CHECK(json.at("rejections")[2].at("request") == "node #99");
    CHECK(read_all(people.dir / "rej.tsv") ==
          "edge ann zoe\tid-outside\t2\nnode zac\tid-outside\t3\nnode #99\tid-outside\t6\n");
    const std::string receipts = read_all(people.dir / "rec");
    CHECK(receipts.find("\"request\":\"node bob at=") != std::string::npos);
    CHECK(receipts.find("\"request\":\"edge ann ? at=") != std::string::npos);
    CHECK(
        run({"verify", people.store + "/certificates/exact.jsonl", "--receipts", people.file("rec"), "--quiet"}).code ==
        0);
    CHECK(read_all(people.dir / "feed" / "1.ids.txt") == "ann\nbob\ncyd\ndan\neve\nflo\ngus\nhal\n");
    CHECK(std::filesystem::exists(people.dir / "feed" / "2.ids.txt"));
    CHECK(std::filesystem::exists(people.dir / "feed" / "2.removed.txt"));

    const Result told = people.stream("node kim\nedge ann ann\n", {});
    CHECK(told.out.find("rejected 2 (node kim: id-outside; edge ann ann: self-loop)") != std::string::npos);
    const Result strict = people.stream("node ann\nnode lee\n", {"--strict"});
    CHECK(strict.code == 2);
    CHECK(strict.error.find("line 2: node lee: id-outside") != std::string::npos);
    const Result bad = people.stream("node ann\nnode\n", {});
    CHECK(bad.code == 2);
    CHECK(bad.error.find("line 2: not a request: 'node'") != std::string::npos);

    // The requests before the bad line are applied. Nobody has a removed name, before a purge and
    // after it; the node is joined again by its number.
    CHECK(run({"info", people.store, "--json"}).json().at("named") == 7);
    const auto reject = [&](const std::string& text) {
      const Json rejection = people.stream(text + "\n", {"--json", "--quiet"}).json().at("rejections")[0];
      CHECK(rejection.at("request") == text);
      CHECK(rejection.at("reason") == "id-outside");
    };
    reject("insert-edge bob ann");
    reject("node bob");
    CHECK(people.stream("insert-edge #1 #0\n", {"--json", "--quiet"}).json().at("applied") == 1);
    CHECK(people.stream("node #1\n", {"--json", "--quiet"}).json().at("applied") == 1);
    CHECK(run({"info", people.store, "--json"}).json().at("named") == 7);
    CHECK(run({"purge", people.store, "--quiet"}).code == 0);
    CHECK(run({"info", people.store, "--json"}).json().at("named") == 7);
    reject("insert-edge bob ann");
    reject("node bob");
    CHECK(run({"export", people.store, "--names", "-"}).out == "\n\n\ncyd\ndan\neve\nflo\ngus\nhal\nida\n");
  }

  TEST_CASE("a request by name that comes again with its id is known, also when its node has lost the name") {
    const People people;
    people.train();
    const std::string text = "edge ann bob id=E1\nnode ann id=N1\nfeature cyd id=F1\n";
    CHECK(people.stream(text, {"--json", "--quiet"}).json().at("applied") == 3);
    for (int time = 0; time < 2; ++time) {
      const Result again = people.stream(text + "node #7 id=N2\n", {"--json", "--quiet"});
      CAPTURE(again.error);
      REQUIRE(again.code == 0);
      CHECK(again.json().at("applied") == (time == 0 ? 1 : 0));
      for (int i = 0; i < 3; ++i) CHECK(again.json().at("rejections")[i].at("reason") == "known-id");
    }
    const Result other = people.stream("node bob id=N1\n", {});
    CHECK(other.code == 2);
    CHECK(other.error.find("the id N1 stands for another request already") != std::string::npos);
  }

  TEST_CASE("no output has the name of a removed node, and a purge changes no answer") {
    for (const char* const rows : {"labelled", "all"}) {
      CAPTURE(rows);
      const People people;
      REQUIRE(run({"propagate", people.store, "--hops", "2", "--rows", rows, "--quiet"}).code == 0);
      REQUIRE(run({"train", people.store, "--quiet"}).code == 0);
      const std::string text = "node cyd\nedge cyd dan\ninsert-node #3 0.5 0.25\nset-label #3 1\n";
      const Result streamed = people.stream(text, {"--json", "--plan", "push", "--solver", "exact", "--changes",
                                                   people.file("feed"), "--receipts", people.file("rec"), "--public"});
      CHECK(streamed.json().at("requests") == 4);
      CHECK(streamed.out.find("cyd") == std::string::npos);
      CHECK(people
                .stream("insert-edge #3 dan id=later\n", {"--json", "--plan", "push", "--solver", "exact", "--changes",
                                                          people.file("feed"), "--receipts", people.file("rec")})
                .out.find("cyd") == std::string::npos);
      // The sender's own words, and the news of the removal: it is the one place where readers of a
      // feed can learn of it.
      const std::string receipts = read_all(people.dir / "rec");
      CHECK(receipts.find("\"request\":\"node cyd at=") != std::string::npos);
      CHECK(receipts.find("\"request\":\"edge ? dan at=") != std::string::npos);
      CHECK(receipts.find("\"request\":\"insert-edge #3 dan id=later at=") != std::string::npos);
      const auto feed = [&](const char* name) { return read_all(people.dir / "feed" / name); };
      CHECK((feed("2.ids.txt") + feed("2.removed.txt")).find("cyd\n") != std::string::npos);
      CHECK((feed("3.ids.txt") + feed("3.removed.txt")).find("cyd\n") == std::string::npos);
      CHECK((feed("3.ids.txt")).find("#3\n") != std::string::npos);

      const auto answers = [&] {
        const TempDir dir;
        const auto out = [&](const char* name) { return (dir / name).string(); };
        write_file(dir / "some.txt", "#3\ndan\n");
        const std::vector<std::vector<std::string>> commands{
            {"predict", people.store},
            {"predict", people.store, "--json"},
            {"predict", people.store, "--nodes", out("some.txt")},
            {"predict", people.store, "--scores", out("s.npy"), "--ids", out("s.txt")},
            {"export", people.store, "--embeddings", out("z.npy"), "--ids", out("z.txt"), "--missing", "nan"},
            {"export", people.store, "--names", out("n.txt")},
            {"export", people.store, "--requests", out("q.txt"), "--draw", "node", "--count", "4"},
            {"export", people.store, "--all", out("all")},
            {"evaluate", people.store, "--json"},
            {"plan", people.store, "--requests", out("q.txt")}};
        std::string all;
        for (const std::vector<std::string>& words : commands) {
          CAPTURE(words[0]);
          const Result result = run(words);
          CAPTURE(result.error);
          CHECK(result.code == 0);
          CHECK((result.out + result.error).find("cyd") == std::string::npos);
          if (words[0] == "predict") all += result.out;
        }
        for (const auto& [name, bytes] : testing::folder_bytes(dir.path())) {
          const std::string& shown = name;
          CAPTURE(shown);
          CHECK(bytes.find("cyd") == std::string::npos);
          if (name != "q.txt") all += name + "\n" + bytes;
        }
        for (const std::vector<std::string>& words : {std::vector<std::string>{"info", people.store, "--json"},
                                                      {"verify", people.store, "--rebuild", "--json"},
                                                      {"requests", people.store, "--json"}}) {
          const Result result = run(words);
          CHECK(result.code == 0);
          CHECK((result.out + result.error).find("cyd") == std::string::npos);
        }
        write_file(dir / "some.txt", "cyd\n");
        const Result unknown = run({"predict", people.store, "--nodes", out("some.txt")});
        CHECK(unknown.code == 2);
        CHECK(unknown.error.find("no node has the name 'cyd'") != std::string::npos);
        return all;
      };
      const std::string before = answers();
      CHECK(before.find("#3") != std::string::npos);
      REQUIRE(run({"purge", people.store, "--without-feeds", "--quiet"}).code == 0);
      CHECK(answers() == before);
    }
  }

  TEST_CASE("a name of any bytes is told in a form that no terminal obeys, and ends nothing") {
    const People people;
    people.train();
    const std::string bad =
                          "node \xFF\x9B\nnode \xE2\x80\xAE"
                          "ann\nedge ann \x1B[2J\n",
                      quoted = "node \\xFF\\x9B";
    const Result result = people.stream(bad, {"--json", "--quiet", "--solver", "exact", "--rejected",
                                              people.file("rej.tsv"), "--receipts", people.file("rec")});
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    const Json json = result.json();
    REQUIRE(json.at("rejections").size() == 3);
    CHECK(json.at("rejections")[0].at("request") == quoted);
    CHECK(json.at("rejections")[1].at("request") == "node \\xE2\\x80\\xAEann");
    CHECK(json.at("rejections")[2].at("request") == "edge ann \\x1B[2J");
    CHECK(read_all(people.dir / "rej.tsv").starts_with(quoted + "\tid-outside\t1\n"));
    const Result told = people.stream(bad, {});
    CHECK(told.out.find("(" + quoted + ": id-outside; ") != std::string::npos);
    const Result strict = people.stream(bad, {"--strict"});
    CHECK(strict.error.find("line 1: " + quoted + ": id-outside") != std::string::npos);
    for (const std::string& text :
         {result.out, told.out, strict.error, read_all(people.dir / "rej.tsv"), read_all(people.dir / "rec")})
      CHECK_FALSE(text_fault(text, "\n\t"));
  }

  TEST_CASE("a name that nobody sees as it is is refused with its place, and shown in that form") {
    const People people;
    write_file(people.dir / "ids.txt",
               "ann\nbob\n\n\xE2\x80\xAE"
               "d\ndan\neve\nflo\ngus\nhal\nida\n");
    const Result refused =
        run({"import", people.file("other"), "--edges", people.file("e.csv"), "--ids", people.file("ids.txt")});
    CHECK(refused.code == 2);
    check_message(
        refused.error.substr(0, refused.error.size() - 1),
        {"ids.txt", "line 4", "'\\xE2\\x80\\xAEd' is no name of a node: it has a character that changes", "at byte 0"});
    CHECK_FALSE(text_fault(refused.error, "\n"));
  }

  TEST_CASE("what is wrong with names is told once, with file, place and remedy, and leaves nothing") {
    const People people;
    const auto refused = [&](const std::vector<std::string>& more, const std::vector<std::string>& parts) {
      const Result result = people.import(more);
      CHECK(result.code == 2);
      check_message(result.error.substr(0, result.error.size() - 1), parts);
      CHECK_FALSE(std::filesystem::exists(people.dir / "other"));
    };
    refused({"--nodes", "11"}, {"ids.txt", "10 nodes", "11"});
    write_file(people.dir / "ids.txt", "ann\nbob\nann\n");
    refused({"--classes", "2"}, {"ids.txt", "line 3", "'ann'", "line 1"});
    write_file(people.dir / "ids.txt", "ann\nbob\n");
    refused({"--classes", "2"}, {"x.npy", "10 nodes", "ids.txt"});
    write_file(people.dir / "ids.txt", "ann\nb,b\n");
    refused({"--classes", "2"}, {"ids.txt", "line 2", "several columns"});
    write_file(people.dir / "words.csv", "ann bob\nbob cyd\n");
    const Result numbers = run({"import", people.file("other"), "--edges", people.file("words.csv"), "--nodes", "3"});
    CHECK(numbers.code == 2);
    CHECK(numbers.error.find("--ids") != std::string::npos);
    write_file(people.dir / "words.csv", "ann bob\n");
    const Result one = run({"import", people.file("other"), "--edges", people.file("words.csv"), "--nodes", "3"});
    CHECK(one.code == 2);
    CHECK(one.error.find("--ids") != std::string::npos);
    CHECK(run({"export", people.store, "--edges", people.file("e.csv")}).code == 1);
    write_file(people.dir / "e.txt", "0 1\n");
    CHECK(run({"import", people.file("plain"), "--edges", people.file("e.txt"), "--quiet"}).code == 0);
    const Result names = run({"export", people.file("plain"), "--names", people.file("n.txt")});
    CHECK(names.code == 1);
    CHECK(names.error.find("--ids") != std::string::npos);
  }
}

}  // namespace unweave
