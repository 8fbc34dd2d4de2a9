// tests/tools/commands/concurrent_test.cpp - many readers beside one writer, all of them real
// processes: every answer is that of one moment, or a polite refusal; a second writer is refused as
// long as the first one lives.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "storage/io/checksum.h"
#include "storage/io/hex.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Finished;
using testing::must;
using testing::run_process;

std::string checksum_of(const fs::path& file) {
  const std::string bytes = testing::read_all(file);
  return to_hex(checksum128(std::as_bytes(std::span(bytes)), {}));
}

/// What one reader was told, and what `export` wrote.
struct Answer {
  std::string command;
  Finished told;
  std::string files;
  std::uint64_t known = 0;  ///< requests whose acknowledgement was printed before the reader began
};

/// `info`, `verify`, `evaluate` or `export`; files go to `scratch`.
Answer ask(const std::string& command, const fs::path& store, const fs::path& scratch) {
  std::vector<std::string> words = {command, store.string(), "--memory", "64M"};
  if (command == "export")
    words.insert(words.end(), {"--embeddings", scratch.string() + ".z.npy", "--edges", scratch.string() + ".e.npy"});
  else
    words.emplace_back("--json");
  Answer answer{command, run_process(words), {}, 0};
  if (command == "export" && answer.told.code == 0)
    answer.files = checksum_of(scratch.string() + ".z.npy") + checksum_of(scratch.string() + ".e.npy");
  return answer;
}

/// The last request that streams have acknowledged which print into files of this folder.
std::uint64_t acknowledged_in(const fs::path& folder) {
  std::uint64_t last = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line) && !in.eof();)
      last = std::max(last, json::parse(line).at("last_request").get<std::uint64_t>());
  }
  return last;
}

/// Readers that ask one after another, in two rows at once, until stop().
class AskingReaders {
 public:
  AskingReaders(const fs::path& store, const fs::path& printed, const fs::path& scratch,
                const std::vector<std::string>& commands) {
    for (std::size_t row = 0; row < 2; ++row)
      rows_.emplace_back([this, row, store, printed, commands, own = scratch / std::to_string(row)] {
        for (std::size_t turn = 2 * row; !ended_; ++turn) {
          const std::uint64_t known = acknowledged_in(printed);
          answers_[row].push_back(ask(commands[turn % commands.size()], store, own));
          answers_[row].back().known = known;
        }
      });
  }
  ~AskingReaders() { end(); }
  AskingReaders(const AskingReaders&) = delete;
  AskingReaders& operator=(const AskingReaders&) = delete;

  std::vector<Answer> stop() {
    end();
    std::vector<Answer> all = std::move(answers_[0]);
    all.insert(all.end(), answers_[1].begin(), answers_[1].end());
    return all;
  }

 private:
  void end() {
    ended_ = true;
    for (std::thread& row : rows_)
      if (row.joinable()) row.join();
  }

  std::atomic<bool> ended_ = false;
  std::vector<Answer> answers_[2];
  std::vector<std::thread> rows_;
};

/// What each command says of each moment, by the number of requests.
struct Moments {
  std::map<std::uint64_t, std::string> digests, exports, evaluations;

  void add(const fs::path& store, const fs::path& scratch, bool model) {
    const json info = json::parse(ask("info", store, scratch).told.out);
    const std::uint64_t at = info.at("acknowledged");
    digests[at] = info.at("digest");
    exports[at] = ask("export", store, scratch).files;
    if (model) evaluations[at] = ask("evaluate", store, scratch).told.out;
  }
};

/// One line and nothing else, which calls nothing damaged.
bool is_polite(const Finished& told) {
  return told.code == 3 && told.error.starts_with("unweave: ") && told.error.find('\n') == told.error.size() - 1 &&
         told.out.empty();
}

/// Returns how many were answered, and not refused.
std::size_t check(const std::vector<Answer>& answers, const Moments& moments) {
  std::map<std::string, std::size_t> answered, refused;
  for (const Answer& answer : answers) {
    CAPTURE(answer.command);
    CAPTURE(answer.told.code);
    CAPTURE(answer.told.out);
    CAPTURE(answer.told.error);
    CAPTURE(answer.known);
    if (answer.told.code != 0) {
      CHECK(is_polite(answer.told));
      ++refused[answer.command];
      continue;
    }
    ++answered[answer.command];
    CHECK(answer.told.error.empty());
    if (answer.command == "info") {
      const json info = json::parse(answer.told.out);
      const std::uint64_t at = info.at("acknowledged");
      CHECK(at >= answer.known);
      REQUIRE(moments.digests.contains(at));
      CHECK(info.at("digest") == moments.digests.at(at));
      for (const json& model : info.at("models")) {
        CHECK(model.at("sequence") >= answer.known);
        CHECK(model.at("outdated") == (model.at("sequence") < at));
      }
    } else if (answer.command == "export") {
      const auto is_same = [&](const auto& moment) { return moment.second == answer.files; };
      CHECK(std::any_of(moments.exports.lower_bound(answer.known), moments.exports.end(), is_same));
    } else if (answer.command == "evaluate") {
      const json line = json::parse(answer.told.out);
      CHECK(line.at("sequence") >= answer.known);
      if (line.at("outdated") == false) CHECK(answer.told.out == moments.evaluations.at(line.at("sequence")));
    }
  }
  std::string counts;
  std::size_t all = 0;
  for (const auto& [command, count] : answered) {
    counts += " " + command + " " + std::to_string(count) + " (" + std::to_string(refused[command]) + " refused)";
    all += count;
  }
  MESSAGE("answered:", counts);
  return all;
}

void generate(const fs::path& store, const char* scale, const char* columns) {
  must({"generate", store.string(), "--model", "rmat", "--scale", scale, "--edge-factor", "8", "--features", columns,
        "--classes", "3", "--seed", "1"});
  must({"propagate", store.string(), "--hops", "2", "--rows", "all"});
}

std::string digest_in(const Answer& answer) {
  return answer.command == "info" ? json::parse(answer.told.out).at("digest").dump() : "";
}

/// Edges of the store, some each time, as requests.
std::vector<std::string> requests_from(const fs::path& store, const fs::path& scratch, std::size_t batches) {
  const fs::path file = scratch / "drawn";
  must({"export", store.string(), "--requests", file.string(), "--draw", "edge", "--count",
        std::to_string(10 * batches)});
  std::ifstream in(file);
  std::vector<std::string> texts(batches);
  for (std::string& text : texts)
    for (int i = 0; i < 10; ++i) {
      std::string line;
      std::getline(in, line);
      text += line + "\n";
    }
  return texts;
}

struct Folders {
  testing::TempDir dir;
  fs::path store = dir / "s", calm = dir / "calm", printed = dir / "printed", scratch = dir / "scratch";
  Folders() {
    for (const fs::path& folder : {printed, scratch}) fs::create_directory(folder);
  }
};

std::vector<std::string> stream_words(const fs::path& store, const fs::path& requests, const std::string& solver) {
  std::vector<std::string> words = {"stream", store.string(), "--requests", requests.string(), "--batch", "10",
                                    "--json", "--memory",     "16M",        "--plan",          "push"};
  if (!solver.empty()) words.insert(words.end(), {"--solver", solver, "--seed", "7", "--evaluate-every", "0"});
  return words;
}

/// Streams of two batches one after another, which end with checkpoints, while readers ask.
void stream_beside_readers(Folders& at, std::size_t batches, const std::string& solver) {
  const auto requests = requests_from(at.store, at.scratch, batches);
  fs::copy(at.store, at.calm, fs::copy_options::recursive);
  Moments moments;
  moments.add(at.calm, at.scratch / "calm", !solver.empty());
  for (const std::string& text : requests) {
    must(stream_words(at.calm, testing::write_file(at.scratch / "requests", text), solver));
    moments.add(at.calm, at.scratch / "calm", !solver.empty());
  }
  std::vector<std::string> commands = {"info", "export", "verify", "requests"};
  if (!solver.empty()) commands.emplace_back("evaluate");
  AskingReaders readers(at.store, at.printed, at.scratch, commands);
  for (std::size_t i = 0; i < batches; i += 2) {
    const fs::path file = testing::write_file(at.scratch / "requests", requests[i] + requests[i + 1]);
    const pid_t writer = testing::start_program(stream_words(at.store, file, solver), at.printed / std::to_string(i));
    CHECK(testing::wait_for(writer) == 0);
  }
  const std::vector<Answer> answers = readers.stop();
  CHECK(check(answers, moments) > 5);
  CHECK(json::parse(run_process({"info", at.store.string(), "--json"}).out).at("digest") ==
        moments.digests.at(10 * batches));
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("readers beside streams that make new partitions") {
    Folders at;
    generate(at.store, "12", "128");
    stream_beside_readers(at, 24, "");
  }

  TEST_CASE("readers beside a new propagation and a purge") {
    Folders at;
    generate(at.store, "12", "32");
    const auto requests = requests_from(at.store, at.scratch, 1);
    must(stream_words(at.store, testing::write_file(at.scratch / "requests", requests[0]), ""));
    std::vector<std::vector<std::string>> writers;
    for (int round = 0; round < 3; ++round)  // so that readers come to answer beside a busy machine's writers
      writers.insert(
          writers.end(),
          {{"propagate", "--hops", "1", "--rows", "all"}, {"purge"}, {"propagate", "--hops", "3", "--rows", "all"}});
    fs::copy(at.store, at.calm, fs::copy_options::recursive);
    std::vector<Answer> expected{ask("info", at.calm, at.scratch / "calm"),
                                 ask("export", at.calm, at.scratch / "calm")};
    const auto write = [](const fs::path& store, std::vector<std::string> words) {
      words.insert(words.begin() + 1, {store.string(), "--memory", "64M"});
      must(words);
    };
    for (const auto& words : writers) {
      write(at.calm, words);
      for (const char* command : {"info", "export"}) expected.push_back(ask(command, at.calm, at.scratch / "calm"));
    }
    AskingReaders readers(at.store, at.printed, at.scratch, {"info", "export", "verify", "requests"});
    for (const auto& words : writers) write(at.store, words);
    std::size_t answered = 0;
    for (const Answer& answer : readers.stop()) {
      CAPTURE(answer.command);
      CAPTURE(answer.told.out);
      CAPTURE(answer.told.error);
      if (answer.told.code != 0 || answer.command == "verify" || answer.command == "requests") {
        CHECK((answer.told.code == 0 || is_polite(answer.told)));
        continue;
      }
      ++answered;
      CHECK(std::any_of(expected.begin(), expected.end(), [&](const Answer& one) {
        return one.command == answer.command && one.files == answer.files && digest_in(one) == digest_in(answer);
      }));
    }
    CHECK(answered > 3);
  }

  TEST_CASE("a second writer is refused until the first one ends, however that comes") {
    Folders at;
    generate(at.store, "8", "8");
    const fs::path pipe = at.scratch / "pipe", printed = at.printed / "0";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const pid_t writer = testing::start_program(stream_words(at.store, pipe, ""), printed);
    const std::string more = requests_from(at.store, at.scratch, 1)[0];
    {
      std::ofstream requests(pipe);
      requests << more << std::flush;
      while (acknowledged_in(at.printed) == 0) {
        REQUIRE(::waitpid(writer, nullptr, WNOHANG) == 0);
        ::usleep(1000);
      }
      for (const std::vector<std::string>& words :
           {std::vector<std::string>{"stream", at.store.string(), "--requests", (at.scratch / "drawn").string()},
            {"train", at.store.string()},
            {"propagate", at.store.string()},
            {"purge", at.store.string()}}) {
        const Finished told = run_process(words);
        CAPTURE(words[0]);
        CAPTURE(told.error);
        CHECK(told.code == 3);
        CHECK(is_polite(told));
        CHECK(told.error.find("another process is writing this store") != std::string::npos);
      }
      REQUIRE(::kill(writer, SIGKILL) == 0);
      CHECK(testing::wait_for(writer) == -SIGKILL);
    }
    must({"purge", at.store.string()});
    CHECK(json::parse(ask("info", at.store, at.scratch).told.out).at("acknowledged") == 0);
  }

  TEST_CASE("readers beside streams with a model") {
    for (const std::string solver : {"newton", "rewind"}) {
      CAPTURE(solver);
      Folders at;
      generate(at.store, "9", "8");
      std::vector<std::string> train = {"train", at.store.string(), "--solver", solver, "--seed", "1"};
      if (solver == "rewind") train.insert(train.end(), {"--set", "epochs=20", "--set", "capacity=1"});
      must(train);
      stream_beside_readers(at, 24, solver);
    }
  }
}

}  // namespace unweave
