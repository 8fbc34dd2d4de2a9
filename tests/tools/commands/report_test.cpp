// tests/tools/commands/report_test.cpp - the page of `report`: what is on it, that it refers to
// nothing, that no text from outside becomes a part of it, and what it refuses.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::read_all;
using testing::Result;
using testing::run;
using testing::TempDir;
using testing::write_file;

bool shows(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

std::size_t times_of(const std::string& page, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = page.find(part); at != std::string::npos; at = page.find(part, at + part.size())) ++count;
  return count;
}

/// Every element but those of <meta> is closed, in the order in which they were opened.
void check_elements(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    REQUIRE(end != std::string::npos);
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n"));
    if (name == "meta" || name == "!DOCTYPE" || tag.ends_with('/')) continue;
    if (!name.starts_with('/')) {
      open.push_back(name);
      continue;
    }
    REQUIRE_FALSE(open.empty());
    CHECK(open.back() == name.substr(1));
    open.pop_back();
  }
  CHECK(open.empty());
}

/// Nothing on the page makes a browser fetch or run anything, and it is one document.
void check_page(const std::string& page) {
  for (const char* const part :
       {"http:", "https:", "src=", "url(", "@import", "<script", "<link", "<img", "javascript:"})
    CHECK_MESSAGE(!shows(page, part), part);
  CHECK(times_of(page, "href=\"") == times_of(page, "href=\"#"));
  CHECK(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">\n"));
  CHECK(page.ends_with("</body>\n</html>\n"));
  CHECK(times_of(page, "<h1>") == 1);
  CHECK(times_of(page, "<main>") == 1);
  check_elements(page);
}

Json batch_line(std::uint64_t number) {
  const auto x = static_cast<double>(number);
  return {{"batch", number},
          {"requests", 10},
          {"last_request", 10 * number},
          {"applied", 9},
          {"rejected", 1},
          {"edges_removed", 8},
          {"nodes_removed", 1},
          {"seconds_propagate", 0.0123 * x},
          {"seconds_predicted", 0.0111 * x},
          {"seconds_unlearn", 1.5 + x},
          {"plan", {"push", "recompute"}},
          {"retrained", number == 2},
          {"residual_bound", 1.25e-7 * x},
          {"budget", 1e-6},
          {"certified", true},
          {"claim", "T1"},
          {"for_tests", false},
          {"accuracy_train", 0.75 + x / 64},
          {"accuracy_valid", nullptr},
          {"accuracy_test", 0.71 + x / 128},
          {"rejections", {{{"request", "edge 4711 4712"}, {"reason", "absent-edge"}, {"sequence", 7}, {"line", 7}}}}};
}

/// A report that goes well; returns the page.
std::string report(const TempDir& dir, std::vector<std::string> words) {
  words.insert(words.begin(), "report");
  words.insert(words.end(), {"--out", (dir / "page.html").string()});
  const Result result = run(words);
  CAPTURE(result.error);
  REQUIRE(result.code == 0);
  return read_all(dir / "page.html");
}

TEST_SUITE("unit") {
  TEST_CASE("every batch is on the page with the numbers of its line, and no request in clear") {
    const TempDir dir;
    std::string lines;
    for (std::uint64_t i = 1; i <= 70; ++i) lines += batch_line(i).dump() + "\n";
    const std::string run_file = write_file(dir / "run.jsonl", lines).string();
    const std::string page = report(dir, {run_file});
    check_page(page);
    for (std::uint64_t i = 1; i <= 70; ++i) {
      const Json line = batch_line(i);
      CAPTURE(i);
      for (const char* const name : {"residual_bound", "accuracy_train", "accuracy_test", "seconds_propagate",
                                     "seconds_predicted", "seconds_unlearn"})
        CHECK_MESSAGE(
            (shows(page, "<data value=\"" + line[name].dump() + "\">") || shows(page, ">" + line[name].dump() + "<")),
            name);
      CHECK(times_of(page, "<tr><th scope=\"row\">" + std::to_string(i) + "</th>") == 3);
    }
    CHECK(shows(page, "Rejected: absent-edge"));
    CHECK_FALSE(shows(page, "4711"));
    CHECK(times_of(page, "<svg class=\"chart\"") == 3);
    CHECK(times_of(page, "<desc") == 3);
    CHECK(shows(page, "<dt>Requests</dt><dd>700"));
    CHECK(shows(page, "630 applied, 70 rejected"));
    CHECK_FALSE(shows(page, ">validation<"));  // no line has such a number
    CHECK(report(dir, {run_file}) == page);

    const Json summary = run({"report", run_file, "--out", (dir / "page.html").string(), "--json"}).json();
    CHECK(summary["batches"] == 70);
    CHECK(summary["batches_certified"] == 70);
    CHECK(summary["requests"] == 700);
    CHECK(summary["bytes"] == page.size());
    CHECK_FALSE(summary.contains("certificates"));
  }

  TEST_CASE("every model that follows a stream has its series, not only the first one") {
    const TempDir dir;
    std::string lines;
    for (std::uint64_t i = 1; i <= 3; ++i) {
      Json line = batch_line(i);
      line["models"] = Json::array();
      for (const auto& [name, share] : {std::pair("exact", 0.5), {"newton", 0.25}, {"<third>", 0.125}})
        line["models"].push_back({{"name", name},
                                  {"solver", name},
                                  {"seconds_unlearn", share * static_cast<double>(i)},
                                  {"certified", name != std::string("newton")},
                                  {"claim", "T1"},
                                  {"residual_bound", share / 1024},
                                  {"budget", 1.0},
                                  {"accuracy_test", share + static_cast<double>(i) / 1024}});
      lines += line.dump() + "\n";
    }
    const std::string run_file = write_file(dir / "run.jsonl", lines).string();
    const std::string page = report(dir, {run_file});
    check_page(page);
    for (const char* const part :
         {"Accuracy by batch: exact", "Accuracy by batch: newton", "Accuracy by batch: &lt;third&gt;",
          "Unlearning of the models", "batches of the streams: newton", "Test accuracy, last: newton",
          "Unlearning a batch, mean: &lt;third&gt;", "Releases of every batch, model by model"})
      CHECK_MESSAGE(shows(page, part), part);
    CHECK(times_of(page, "<svg class=\"chart\"") == 5);  // three of accuracy, propagation, unlearning
    for (const double share : {0.5, 0.25, 0.125})
      CHECK(shows(page, "<data value=\"" + Json(share + 3.0 / 1024).dump() + "\">"));
    CHECK(shows(page, "<small>0 certified</small>"));
    CHECK(run({"report", run_file, "--out", (dir / "page.html").string(), "--json"}).json()["batches_certified"] == 0);
    CHECK(run({"report", write_file(dir / "wrong.jsonl", R"({"batch":1,"last_request":1,"models":[3]})").string(),
               "--out", (dir / "page.html").string()})
              .code == 2);
  }

  TEST_CASE("requests of a store with their ids, and a headline until they are purged") {
    const TempDir dir;
    const std::string store = (dir / "s").string();
    REQUIRE(run({"generate", store, "--model", "sbm", "--scale", "8", "--features", "4", "--classes", "2"}).code == 0);
    REQUIRE(run({"propagate", store}).code == 0);
    CHECK_FALSE(shows(report(dir, {store}), "Not purged yet"));
    const auto stream = [&](const std::string& requests) {
      REQUIRE(run({"stream", store, "--requests", write_file(dir / "requests", requests).string()}).code == 0);
    };
    stream("insert-edge 1 200 id=I\n");
    std::string page = report(dir, {store});
    CHECK_FALSE(shows(page, "Not purged yet"));  // nothing was removed
    CHECK(shows(page, "<code>I</code>"));
    std::string many;
    for (int i = 0; i < 201; ++i) many += "node " + std::to_string(i) + " id=T" + std::to_string(i) + "\n";
    stream(many + "node 3 id=<b>\n");
    page = report(dir, {store});
    check_page(page);
    CHECK(shows(page, "Not purged yet: 201 requests have removed or replaced"));
    CHECK(shows(page, "<h2 id=\"requests\">Requests</h2>"));
    CHECK(times_of(page, "<tr><th scope=\"row\" class=\"text\"><code>") >= 200);
    CHECK(shows(page, "<code>&lt;b&gt;</code>"));
    CHECK(shows(page, "asked for the same and was applied"));
    CHECK(shows(page, "<code>T200</code>"));
    CHECK_FALSE(shows(page, "<code>T1</code>"));
    CHECK(shows(page, "3 older requests are not shown"));
    CHECK_FALSE(shows(page, "node 200"));
    CHECK(report(dir, {store}) == page);
    stream("node 210\n");
    CHECK(shows(report(dir, {store}), "1 further request without an id of its own may have done so, too."));
    REQUIRE(run({"purge", store}).code == 0);
    page = report(dir, {store});
    CHECK_FALSE(shows(page, "Not purged yet"));
    CHECK(shows(page, ">purged</span>"));
    stream("node 220\n");
    CHECK(shows(report(dir, {store}), "Not purged yet: 1 request without an id may have removed"));
  }

  TEST_CASE("lines with few members, of several streams and of other commands") {
    const TempDir dir;
    const std::string lines =
        "{\"batch\":1,\"requests\":5,\"last_request\":5,\"budget\":null,\"for_tests\":false,\"accuracy_train\":null,"
        "\"accuracy_valid\":null,\"accuracy_test\":0.5}\n\n"
        "{\"batch\":1,\"requests\":5,\"last_request\":10}\r\n"
        "{\"batch\":2,\"requests\":5,\"last_request\":15,\"accuracy_test\":0.25,\"time\":\"2026-11-25\"}";
    const std::string page = report(dir, {write_file(dir / "public.jsonl", lines).string()});
    check_page(page);
    CHECK(shows(page, "of its stream"));
    CHECK(shows(page, "2026-11-25"));
    CHECK(shows(page, "printed for publication"));
    CHECK_FALSE(shows(page, ">applied<"));
    CHECK_FALSE(shows(page, "Cost by batch"));

    const std::string other =
        write_file(dir / "other.jsonl", "{\"nodes\":3}\n{\"id\":\"T7\",\"purged\":true,\"settled\":true}\n").string();
    const std::string both = report(dir, {(dir / "public.jsonl").string(), other});
    CHECK(shows(both, "<li>2 lines of other commands"));
    CHECK_FALSE(shows(both, "Last purge"));
    CHECK_FALSE(shows(both, "Nothing was done"));
    for (const std::string& nothing : {write_file(dir / "none.jsonl", "").string(), other}) {
      const Result told = run({"report", nothing, "--out", (dir / "page.html").string()});
      CHECK(told.code == 0);
      CHECK(shows(told.error, "note: there is nothing to report"));
      const std::string empty = read_all(dir / "page.html");
      check_page(empty);
      CHECK(shows(empty, ">Nothing was done</h2>"));
    }
    Json wide = batch_line(1);
    for (int i = 0; i < 30'000; ++i) wide["rejections"].push_back({{"request", "edge 1 2"}, {"reason", "absent-edge"}});
    const std::string long_line = write_file(dir / "wide.jsonl", wide.dump() + "\n" + batch_line(2).dump()).string();
    REQUIRE(fs::file_size(long_line) > (1U << 20U));
    CHECK(shows(report(dir, {long_line}), "<data value=\"30002\">30,002</data>"));
    // Lengths that no machine has, and values that leave an axis without extent.
    check_page(report(
        dir,
        {write_file(
             dir / "far.jsonl",
             R"({"batch":1,"requests":0,"last_request":0,"seconds_propagate":1e308,"seconds_predicted":-1e308,"accuracy_test":5e-324})"
             "\n")
             .string()}));
  }

  TEST_CASE("no text from outside becomes a part of the page") {
    const TempDir dir;
    const std::string evil = "\"'><script>alert(1)</script>&\x01\x1b";
    Json batch = batch_line(1);
    batch["claim"] = evil;
    batch["plan"] = {evil};
    batch["time"] = evil;
    batch["rejections"][0]["reason"] = evil;
    Json evaluation = {
        {"solver", evil}, {"name", evil + "2"}, {"model", evil}, {"metrics", Json::object()}, {"agreement_train", 0.5}};
    Json audit = {{"solver", evil}, {"canary", evil},      {"attack", evil},      {"trials", 9},
                  {"tests", 9},     {"hits_unlearned", 3}, {"hits_retrained", 2}, {"certified", true},
                  {"epsilon", 1.0}, {"delta", 0.1},        {"refuted", false}};
    Json training = {{"solver", evil}, {"training_rows", 3}, {"public_key", evil}};
    Json check = {{"ok", false}, {"checked", 3}, {"errors", {evil}}, {"remarks", {evil}}};
    Json purge = {{"purged", true}, {"models_kept", {evil}}, {"proof", evil}, {"digest", evil}};
    std::string lines;
    for (const Json& line : {batch, evaluation, audit, training, check, purge}) lines += line.dump() + "\n";
    const fs::path file = dir / "<img onerror=x>.jsonl";
    const std::string page = report(dir, {write_file(file, lines).string()});
    check_page(page);
    CHECK(times_of(page, "&lt;script&gt;alert(1)&lt;/script&gt;") > 10);
    CHECK(shows(page, "&lt;img onerror=x&gt;.jsonl"));
    CHECK_FALSE(shows(page, "\x1b"));
    CHECK(shows(page, "some do not hold"));
  }

  TEST_CASE("a line that cannot be read is named, and the page that was there stays") {
    const TempDir dir;
    const std::string page = write_file(dir / "page.html", "as it was").string();
    const auto refused = [&](const std::string& lines, const std::string& part) {
      const std::string file = write_file(dir / "run.jsonl", lines).string();
      const Result result = run({"report", file, "--out", page});
      CAPTURE(result.error);
      CHECK(result.code == 2);
      CHECK(shows(result.error, file + ": " + part));
      CHECK(shows(result.error, "--json"));
      CHECK(times_of(result.error, "\n") == 1);
      CHECK(read_all(page) == "as it was");
    };
    const std::string good = batch_line(1).dump() + "\n";
    refused(good + "{\"batch\":2,\"requests\":", "line 2: no JSON object");
    refused(good + "batch 2: last request 20\n", "line 2: no JSON object");
    refused("[1]\n", "line 1: no JSON object");
    refused(good + R"({"batch":-1,"last_request":3})", "line 2: the member batch is no whole number");
    refused(R"({"batch":1,"last_request":3,"accuracy_test":"0.5"})", "line 1: the member accuracy_test is no number");
    refused(R"({"batch":1,"last_request":3,"rejections":[7]})", "line 1: the member rejections is no list of objects");
    refused(R"({"ok":1,"checked":3})", "line 1: the member ok is no true or false");
    refused(R"({"ok":true,"checked":3,"errors":"none"})", "line 1: the member errors is no list of texts");
    CHECK(run({"report", (dir / "nowhere.jsonl").string(), "--out", page}).code == 2);
    CHECK(read_all(page) == "as it was");
  }

  TEST_CASE("wrong usage") {
    const TempDir dir;
    const std::string file = write_file(dir / "run.jsonl", batch_line(1).dump() + "\n").string();
    CHECK(run({"report", "--out", "x.html"}).code == 1);
    CHECK(run({"report", file}).code == 1);
    CHECK(run({"report", file, "--out", "-"}).code == 1);
    CHECK(run({"report", file, "--out", file}).code == 1);
    CHECK(run({"report", file, dir.path().string(), "--out", "x.html"}).code == 1);
    CHECK(run({"report", file, file, file, "--out", (dir / "page.html").string()}).code == 0);
    CHECK(run({"info", file, file}).code == 1);  // others still take as many arguments as they name
    CHECK(read_all(file) == batch_line(1).dump() + "\n");
  }

  TEST_CASE("a store, its models and its public certificates, and nothing private") {
    const TempDir dir;
    const std::string store = (dir / "a<b>.store").string(), lines = (dir / "run.jsonl").string();
    REQUIRE(run({"generate", store, "--model", "sbm", "--scale", "7", "--features", "4", "--classes", "2"}).code == 0);
    REQUIRE(run({"propagate", store}).code == 0);
    std::string all;
    const auto keep = [&](const std::vector<std::string>& words) {
      const Result result = run(words);
      CAPTURE(result.error);
      REQUIRE(result.code == 0);
      all += result.out;
    };
    keep({"train", store, "--solver", "newton", "--json"});
    keep({"train", store, "--solver", "exact", "--name", "other", "--json"});
    const std::string requests = write_file(dir / "requests", "node 5\nnode 5\nnode 6\n").string();
    keep({"stream", store, "--requests", requests, "--batch", "2", "--solver", "newton", "--json"});
    keep({"evaluate", store, "--retrain", "--json"});
    keep({"audit", store, "--solver", "newton", "--canary", "hub", "--trials", "16", "--json"});
    keep({"verify", store, "--json"});
    write_file(lines, all);

    const std::string page = report(dir, {store, lines});
    check_page(page);
    CHECK(shows(page, "<h1>Unlearning report: a&lt;b&gt;.store</h1>"));
    for (const char* const title : {"What was asked and done", "Under which theorem", "Accuracy by batch",
                                    "Cost by batch", "Trainings", "Unlearning against retraining", "Audits", "Checks",
                                    "The store", "Certificates", "What this page does not show"})
      CHECK_MESSAGE(shows(page, ">" + std::string(title) + "</h2>"), title);
    CHECK(shows(page, "all checks hold"));
    CHECK(shows(page, "not refuted"));
    const Json info = run({"info", store, "--json"}).json();
    CHECK(shows(page, info["digest"].get<std::string>()));
    for (const Json& model : info["models"]) CHECK(shows(page, model["digest"].get<std::string>()));
    for (const char* const name : {"newton", "other"}) {
      std::istringstream log(read_all(fs::path(store) / "certificates" / (std::string(name) + ".jsonl")));
      for (std::string line; std::getline(log, line);) {
        const Json certificate = Json::parse(line);
        for (const char* const member : {"id", "digest", "public_key", "log"})
          CHECK_MESSAGE(shows(page, "<code>" + certificate[member].get<std::string>() + "</code>"), member);
      }
    }
    std::istringstream hidden(read_all(fs::path(store) / "certificates/newton.private.jsonl"));
    for (std::string line; std::getline(hidden, line);)
      CHECK_FALSE(shows(page, Json::parse(line)["nonce"].get<std::string>()));
    std::string seed = read_all(fs::path(store) / "certificates/signing-key");
    seed.pop_back();
    CHECK_FALSE(shows(page, seed));
    CHECK_FALSE(shows(page, "node 5"));
    CHECK(report(dir, {store, lines}) == page);

    CHECK(run({"report", store, "--out", store + "/page.html"}).code == 1);
    REQUIRE(run({"purge", store}).code == 0);
    const std::string purged = report(dir, {store});
    check_page(purged);
    CHECK(shows(purged, "no request since the import or the last purge"));
    write_file(fs::path(store) / "certificates/newton.jsonl", "{\"format\":\"unweave weights\"}\n");
    CHECK(run({"report", store, "--out", (dir / "page.html").string()}).code == 2);
    CHECK(read_all(dir / "page.html") == purged);
  }
}

}  // namespace
}  // namespace unweave
