// tests/support/hostile/walk.cpp - children that judge one corruption after the other.
#include "support/hostile/walk.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>
#include <vector>

#include "engine/resources/parallel.h"
#include "support/folder_bytes.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kEachChild = 1024;  // corruptions
constexpr std::uint64_t kMostWrong = 30;    // then a walk ends
constexpr rlim_t kMoreMemory = rlim_t{768} << 20;
constexpr int kProcessorSeconds = 20, kSeconds = 120;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitsMemory = false;  // its shadow takes terabytes of addresses
#else
constexpr bool kLimitsMemory = true;
#endif

/// What a child tells its parent, also when it is killed.
struct Slate {
  std::uint64_t next;  ///< the corruption at hand
  Tried tried;
  char text[4096];  ///< the complaint that ended the child
};

/// A command that is asked about every store, and what it said of the one that nobody touched.
struct Asked {
  std::string name;
  std::function<std::string()> ask;
  bool writes = false;    ///< it gets a copy
  bool is_answer = true;  ///< a store that was damaged and is not refused gives the same
  std::string right{};
};

class Judge {
 public:
  Judge(const FullStore& store, const fs::path& dir) : store_(store), dir_(dir) {
    fs::remove_all(dir_ / "kept");
    const bool names = std::any_of(store_.files.begin(), store_.files.end(),
                                   [](const auto& file) { return file.first.starts_with("names/"); });
    write_files({{"edges", names ? "edge #1 n2\ninsert-edge n3 #20\nfeature n4\nnode #9\n"
                                 : "edge 1 2\ninsert-edge 3 20\nfeature 4\nnode 9\n"}},
                dir_ / "requests");
    write_files(store_.files, at());
    give({"export", at().string(), "--train", (dir_ / "nodes.npy").string()});
    asked_ = {{"info", [this] { return info(); }},
              {"export", [this] { return exported(); }},
              {"evaluate", [this] { return evaluated(); }},
              {"predict", [this] { return predicted(); }},
              {"purge", [this] { return purged(); }, true},
              {"export --all", [this] { return exported_whole(); }},
              {"verify --rebuild",
               [this] {
                 return said({"verify", at().string(), "--rebuild"});
               },
               false, false},
              {"repair",
               [this] {
                 return said({"repair", at().string()});
               },
               true, false},
              {"train",
               [this] {
                 return said({"train", at().string(), "--solver", "exact"});
               },
               true, false},
              {"certify",
               [this] {
                 return said({"certify", at().string(), "--model", (dir_ / "W.npz").string()});
               },
               true, false},
              {"report",
               [this] {
                 return said({"report", at().string(), "--out", (dir_ / "r.html").string()});
               },
               false, false}};
    for (const std::string& solver : store_.streams ? solvers() : std::vector<std::string>())
      asked_.push_back({"stream " + solver, [this, solver] { return streamed(solver); }, true});
    give({"export", at().string(), "--model", (dir_ / "W.npz").string(), "--solver", "newton"});
    for (Asked& one : asked_) {
      one.right = one.ask();
      write_files(store_.files, at());
    }
    // What this store does not give even whole: rows of sums that are stale, say.
    std::erase_if(asked_, [](const Asked& one) { return one.right.starts_with("code "); });
    if (asked_.size() < 7) throw std::runtime_error("most commands refuse the store that nobody touched");
  }

  /// Counts, or returns what is wrong.
  std::string judge(const Corruption& one, std::uint64_t index, Tried& tried) {
    ++tried.tried;
    const bool same = put(one);
    std::string text = same ? std::string() : judge_present(one, index, tried);
    if (same) ++tried.harmless;
    restore(one);
    if (!text.empty()) text = one.what + ": " + text;
    return text;
  }

 private:
  [[nodiscard]] fs::path at() const { return dir_ / "s"; }
  [[nodiscard]] std::vector<std::string> solvers() const {
    std::vector<std::string> all = store_.solvers;
    all.insert(all.begin(), "");
    return all;
  }

  /// Whether nothing has changed.
  bool put(const Corruption& one) {
    bool same = !one.change;
    for (const auto& [path, bytes] : one.files) {
      const auto old = store_.files.find(path);
      same = same && bytes && old != store_.files.end() && old->second == *bytes;
      fs::remove(at() / path);
      if (bytes) std::ofstream(at() / path, std::ios::binary) << *bytes;
    }
    if (one.change) one.change(at());
    return same;
  }

  void restore(const Corruption& one) {
    for (const auto& [path, bytes] : one.files) {
      fs::remove_all(at() / path);
      const auto old = store_.files.find(path);
      if (old != store_.files.end()) std::ofstream(at() / path, std::ios::binary) << old->second;
    }
  }

  std::string judge_present(const Corruption& one, std::uint64_t index, Tried& tried) {
    const Result verified = give({"verify", at().string(), "--json", "--sample", "20"});
    const bool damage_alone = !one.forged && one.files.size() == 1 && !one.change;
    if (std::string wrong = complaint(verified, {0, 2, 4}); !wrong.empty()) return "verify: " + wrong;
    if (verified.code == 2 && damage_alone && one.path != "manifest.json" &&
        verified.error.find(one.path) == std::string::npos)
      return "verify names another file: " + verified.error;
    std::string refused;  // the code and words of the second command
    std::string wrong = ask_more(one, index, refused);
    if (!wrong.empty()) return wrong;
    if (verified.code != 0)
      ++tried.detected;
    else if (!refused.empty() && !one.forged)
      return "verify found nothing, but " + refused;
    else
      ++(one.forged ? tried.other : tried.harmless);
    return {};
  }

  /// One of the other commands: the same answer, or an error. An answer that differs is right for a
  /// forgery alone.
  std::string ask_more(const Corruption& one, std::uint64_t index, std::string& refused) {
    const Asked& asked = asked_[index % asked_.size()];
    const std::string& name = asked.name;
    std::string got;
    if (asked.writes) {
      fs::remove_all(dir_ / "copy");
      fs::rename(at(), dir_ / "kept");
      copy_of(dir_ / "kept");
      got = asked.ask();
      fs::remove_all(at());
      fs::rename(dir_ / "kept", at());
    } else {
      got = asked.ask();
    }
    if (got.starts_with("code ")) {
      refused = name + " said " + got;
      // A solver says of its own numbers in a model that they do not fit, and of another order's
      // nodes that some have no rows.
      const auto asks_for = [&](const char* what) { return last_.error.find(what) != std::string::npos; };
      const bool asks = asks_for("train") || asks_for("propagate") || asks_for("--tau");
      if (one.forged && last_.code == 1 && asks) return {};
      const std::string wrong = complaint(last_, {2, 4});
      return wrong.empty() ? wrong : name + ": " + wrong;
    }
    if (got == asked.right || one.forged || !asked.is_answer) return {};
    if (name == "info" && got.find("\"damage\"") != std::string::npos) return {};
    return name + " answers\n" + got + "\ninstead of\n" + asked.right;
  }

  /// The store at its place again, with pipes and links as they are.
  void copy_of(const fs::path& from) const {
    fs::create_directories(at());
    for (const auto& item : fs::recursive_directory_iterator(from)) {
      const fs::path to = at() / item.path().lexically_relative(from);
      if (item.is_symlink())
        fs::copy_symlink(item.path(), to);
      else if (item.is_directory())
        fs::create_directory(to);
      else if (item.is_fifo())
        fs::rename(item.path(), to);
      else
        fs::copy_file(item.path(), to);
    }
  }

  Result give(std::vector<std::string> words) {
    words.insert(words.end(), {"--threads", "1", "--memory", "64M", "--quiet"});
    last_ = run(words);
    return last_;
  }
  std::string out_or_code(const Result& result) {
    return result.code == 0 ? result.out : "code " + std::to_string(result.code) + ": " + result.error;
  }

  std::string info() { return out_or_code(give({"info", at().string(), "--json"})); }
  std::string evaluated() {
    static const std::regex seconds("\"seconds\":[^,}]*,");
    return std::regex_replace(out_or_code(give({"evaluate", at().string(), "--json"})), seconds, "");
  }
  std::string exported() {
    const fs::path to = dir_ / "exported";
    fs::remove_all(to);
    fs::create_directory(to);
    std::vector<std::string> words{"export", at().string(), "--nodes", (dir_ / "nodes.npy").string()};
    for (const char* what : {"embeddings", "edges", "labels", "train"})
      words.insert(words.end(), {std::string("--") + what, (to / (std::string(what) + ".npy")).string()});
    const Result result = give(words);
    if (result.code != 0) return out_or_code(result);
    std::string all;
    for (const auto& [path, bytes] : folder_bytes(to)) all += path + bytes;
    return all;
  }
  /// What a command says, but for figures of its time; its words where it ends with an error.
  std::string said(std::vector<std::string> words) {
    const bool told = give(std::move(words)).code == 0;
    return told ? "told" : out_or_code(last_);
  }
  std::string predicted() { return out_or_code(give({"predict", at().string(), "--solver", "newton"})); }
  std::string exported_whole() {
    fs::remove_all(dir_ / "whole");
    if (give({"export", at().string(), "--all", (dir_ / "whole").string()}).code != 0) return out_or_code(last_);
    std::string all;
    for (const auto& [path, bytes] : folder_bytes(dir_ / "whole")) all += path + bytes;
    return all;
  }
  /// The digest of what is left.
  std::string purged() {
    if (give({"purge", at().string(), "--always", "--json"}).code != 0) return out_or_code(last_);
    return Json::parse(last_.out).at("digest").dump();
  }
  /// The digest after a batch, and the models.
  std::string streamed(const std::string& solver) {
    std::vector<std::string> words{"stream",  at().string(), "--requests", (dir_ / "requests" / "edges").string(),
                                   "--batch", "2",           "--json"};
    if (!solver.empty()) words.insert(words.end(), {"--solver", solver, "--seed", "3"});
    const Result result = give(words);
    if (result.code != 0) return out_or_code(result);
    const Result after = give({"info", at().string(), "--json"});
    if (after.code != 0) return out_or_code(after);
    Json json = Json::parse(after.out);
    std::string text = json["digest"].dump() + json["acknowledged"].dump();
    for (const Json& model : json["models"])
      if (model["name"] == solver) text += model.dump();
    return text;
  }

  /// What is wrong with a command's end, or nothing.
  [[nodiscard]] std::string complaint(const Result& result, const std::vector<int>& codes) const {
    std::string text = "code " + std::to_string(result.code) + ": " + result.error;
    if (std::find(codes.begin(), codes.end(), result.code) == codes.end()) return text;
    if (result.code == 0) return {};
    if (std::count(result.error.begin(), result.error.end(), '\n') != 1) return "not one line: " + text;
    if (result.error.find("json") != std::string::npos && result.error.find("exception") != std::string::npos)
      return "words of a library: " + text;
    const auto named = [&](const std::string& file) { return result.error.find(file) != std::string::npos; };
    if (!named(at().string()) &&
        std::none_of(store_.files.begin(), store_.files.end(), [&](const auto& item) { return named(item.first); }))
      return "no file is named: " + text;
    return {};
  }

  const FullStore& store_;
  const fs::path dir_;
  std::vector<Asked> asked_;
  Result last_;
};

void limit_memory() {
  if (!kLimitsMemory) return;
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kMoreMemory;
  const rlimit limit{most, most};
  ::setrlimit(RLIMIT_AS, &limit);
}

/// At most so many corruptions; the child ends early with a complaint.
[[noreturn]] void live_as_child(const FullStore& store, const fs::path& dir,
                                const std::function<Corruption(std::uint64_t)>& make, std::uint64_t count,
                                std::uint64_t step, Slate& slate) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const ThreadLimit limit(1);
  std::string text;
  try {
    Judge judge(store, dir);
    limit_memory();
    for (std::uint64_t done = 0; done < kEachChild && slate.next < count && text.empty(); ++done) {
      const itimerval processor{{0, 0}, {kProcessorSeconds, 0}};
      ::setitimer(ITIMER_PROF, &processor, nullptr);
      ::alarm(kSeconds);
      text = judge.judge(make(slate.next), slate.next / step, slate.tried);
      if (text.empty()) slate.next += step;
    }
    const itimerval none{};
    ::setitimer(ITIMER_PROF, &none, nullptr);
    ::alarm(0);
  } catch (const std::exception& error) {
    text = std::string("the walk itself failed: ") + error.what();
  }
  std::strncpy(slate.text, text.c_str(), sizeof slate.text - 1);
  ::_exit(text.empty() ? 0 : 1);
}

}  // namespace

Tried walk(const FullStore& store, const std::function<Corruption(std::uint64_t)>& make, std::uint64_t count,
           std::uint64_t step) {
  void* const shared = ::mmap(nullptr, sizeof(Slate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  Slate& slate = *static_cast<Slate*>(shared);
  const TempDir dir;
  while (slate.next < count && slate.tried.wrong < kMostWrong) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) live_as_child(store, dir.path(), make, count, step, slate);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const std::string what = WIFSIGNALED(status)
                                 ? make(slate.next).what + ": signal " + std::to_string(WTERMSIG(status))
                                 : std::string(slate.text);
    ++slate.tried.wrong;
    FAIL_CHECK(store.name, " ", slate.next, ": ", what);
    slate.next += step;
  }
  const Tried tried = slate.tried;
  ::munmap(shared, sizeof(Slate));
  return tried;
}

}  // namespace unweave::testing
