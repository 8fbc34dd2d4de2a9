// tests/support/faults/trial.cpp - children, what they report, and the walks over all points.
#include "support/faults/trial.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <execinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "engine/resources/parallel.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "support/input_files.h"
#include "tools/commands/commands.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kTerminated = 98;  // exit code of a child whose exception met noexcept
std::function<void()> current;

/// The work under the rules of commands, which give errors their codes; its result, or the error's
/// message.
int run_as_command(const Work& work, const fs::path& folder, const Fault& fault, std::string& text) {
  current = [&] {
    std::optional<CallWatch> watch;
    if (!folder.empty()) watch.emplace(folder, fault);
    text = work();
  };
  const Command one{"work", "work", [](CommandLine&) { current(); }};
  std::ostringstream out, error;
  const int code = run_program({&one, 1}, {"work"}, {out, error, false});
  if (code != 0) text = error.str();
  return code;
}

/// Acknowledges each line when it is flushed.
class AcknowledgingBuffer final : public std::stringbuf {
  int sync() override {
    std::istringstream lines(str());
    for (std::string line; std::getline(lines, line);) acknowledge(line);
    str("");
    return 0;
  }
};

/// Leaves the places on the stack to the parent: addresses in the program, names of functions in
/// libraries.
[[noreturn]] void tell_stack() {
  void* frames[64];
  const int depth = ::backtrace(frames, 64);
  std::ostringstream text;
  text << std::hex << std::showbase;
  Dl_info own{}, place{};
  ::dladdr(reinterpret_cast<void*>(&tell_stack), &own);
  for (int i = 0; i < depth; ++i) {
    if (::dladdr(frames[i], &place) == 0) continue;
    if (place.dli_fbase == own.dli_fbase)
      text << ' ' << static_cast<char*>(frames[i]) - static_cast<char*>(own.dli_fbase) - 1;
    else if (place.dli_sname != nullptr)
      text << ' ' << place.dli_sname;
  }
  SharedLog::get().put_text(text.str());
  ::_exit(kTerminated);
}

/// Some functions of these libraries are noexcept and allocate: nlohmann's JSON values when they
/// are destroyed, the standard library's folder iterators. Without memory they end the process, as
/// a kill does. `stack` is what tell_stack() left.
bool is_ended_by_library(const std::string& stack) {
  if (stack.find(" _ZNSt10filesystem") != std::string::npos) return true;
  const std::string command = "addr2line -f -e /proc/" + std::to_string(::getpid()) + "/exe" + stack;
  std::string names;
  if (FILE* const out = ::popen(command.c_str(), "r")) {
    for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) names += static_cast<char>(c);
    ::pclose(out);
  }
  std::istringstream lines(names);
  for (std::string name; std::getline(lines, name);) {
    if (name.starts_with("_ZN8nlohmann") || name.starts_with("_ZNK8nlohmann")) return true;
    if (name.starts_with("_ZN7unweave") && !name.starts_with("_ZN7unweave7testing")) return false;
  }
  return false;
}

[[noreturn]] void live_as_child(const Work& work, const fs::path& folder, const Fault& fault) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
  std::set_terminate(&tell_stack);
  ::alarm(300);
  const ThreadLimit limit(1);
  std::string text;
  const int code = run_as_command(work, folder, fault, text);
  SharedLog::get().put_text(text);
  ::_exit(code);
}

std::vector<std::string> acknowledged_in(std::span<const Operation> operations) {
  std::vector<std::string> texts;
  for (const Operation& one : operations)
    if (one.kind == Operation::Kind::acknowledge) texts.push_back(one.path);
  return texts;
}

std::string digest_of(const Tree& tree) {
  std::string all;
  for (const auto& [path, bytes] : tree) all += path + '\0' + std::to_string(bytes.size()) + '\0' + bytes;
  return to_hex(checksum128(std::as_bytes(std::span(all)), {}));
}

/// Checks what lies in the folder; returns what is wrong.
std::string problem_of(const Scenario& scenario, const fs::path& folder, const std::vector<std::string>& acknowledged) {
  const Ending ending = run_in_child([&] { return scenario.check(folder, acknowledged); });
  if (ending.code != 0) return "code " + std::to_string(ending.code) + ": " + ending.text;
  return ending.text;
}

}  // namespace

Ending run_in_child(const Work& work) {
  return run_in_child(work, {}, {});
}

Ending run_in_child(const Work& work, const fs::path& folder, const Fault& fault) {
  SharedLog& log = SharedLog::get();
  log.clear();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) live_as_child(work, folder, fault);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return {WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status), log.text(), log.counted(), log.operations()};
}

std::string command(const std::vector<std::string>& words) {
  AcknowledgingBuffer lines;
  std::ostream out(&lines);
  std::ostringstream error;
  const int code = run_program(all_commands(), words, {out, error, false});
  if (code == 0) return {};
  if (code == 1) throw UsageError(error.str());
  if (code == 2) throw DataError(error.str());
  throw ResourceError(error.str());
}

namespace {

/// Cuts the power, and checks what each cut leaves that was not seen before.
class Cutter {
 public:
  Cutter(const Scenario& scenario, int seeds, Tried& tried) : scenario_(scenario), seeds_(seeds), tried_(tried) {}

  /// After these operations, as `disk` knows them.
  void cut(const Disk& disk, const std::vector<std::string>& acknowledged, std::uint64_t seed) {
    for (const Survival survival : {Survival::everything, Survival::nothing, Survival::names, Survival::bytes})
      check(disk.after_cut(survival), acknowledged, survival, 0);
    for (int i = 0; i < seeds_; ++i, ++seed)
      check(disk.after_cut(Survival::chance, seed), acknowledged, Survival::chance, seed);
  }

  /// A process is killed that had done the operations; another opens what it left. The power is cut
  /// when that one acknowledges something, and at its end.
  void cut_after_reopening(Disk disk, const fs::path& left, std::vector<std::string> acknowledged, std::uint64_t seed) {
    const Ending next = run_in_child([&] { return scenario_.reopen(left); }, left, {});
    CAPTURE(next.text);
    CHECK(next.code == 0);
    for (const Operation& one : next.operations) {
      disk.apply(one);
      if (one.kind != Operation::Kind::acknowledge) continue;
      acknowledged.push_back(one.path);
      cut(disk, acknowledged, seed++);
    }
    cut(disk, acknowledged, seed);
  }

 private:
  void check(const Tree& tree, const std::vector<std::string>& acknowledged, Survival survival, std::uint64_t seed) {
    const std::string promised =
        std::to_string(acknowledged.size()) + (acknowledged.empty() ? "" : acknowledged.back());
    if (!seen_.insert(digest_of(tree) + promised).second) return;
    ++tried_.states;
    write_tree(tree, dir_ / "cut");
    const std::string problem = problem_of(scenario_, dir_ / "cut", acknowledged);
    CAPTURE(static_cast<int>(survival));
    CAPTURE(seed);
    if (!problem.empty()) FAIL_CHECK("after a power cut: ", problem);
  }

  const TempDir dir_;
  const Scenario& scenario_;
  int seeds_;
  Tried& tried_;
  std::set<std::string> seen_;
};

}  // namespace

Tried cut_power(const Tree& before, const Scenario& scenario, int seeds) {
  const TempDir dir;
  write_tree(before, dir / "work");
  const Ending whole = run_in_child([&] { return scenario.work(dir / "work"); }, dir / "work", {});
  CAPTURE(scenario.name);
  CAPTURE(whole.text);
  REQUIRE(whole.code == 0);

  Tried tried;
  Disk disk(before);
  Cutter direct(scenario, seeds, tried), later(scenario, seeds / 2, tried);
  for (std::size_t at = 0; at <= whole.operations.size(); ++at) {
    ++tried.points;
    const std::string next = at < whole.operations.size() ? text_of(whole.operations[at]) : "the end";
    CAPTURE(at);
    CAPTURE(next);
    const auto acknowledged = acknowledged_in(std::span(whole.operations).first(at));
    direct.cut(disk, acknowledged, 1000 * at);
    write_tree(disk.after_cut(Survival::everything), dir / "left");
    later.cut_after_reopening(disk, dir / "left", acknowledged, 1000 * at);
    if (at < whole.operations.size()) disk.apply(whole.operations[at]);
  }
  // The log is whole: it alone leads to what lies there.
  CHECK(disk.after_cut(Survival::everything) == read_tree(dir / "work"));
  return tried;
}

namespace {

/// It may do without what failed, or says that it cannot.
void check_ending(const Ending& ending, int code) {
  CHECK((ending.code == 0 || ending.code == code));
  CHECK(ending.text.find("internal error") == std::string::npos);
}

}  // namespace

Tried fail_calls(const Tree& before, const Scenario& scenario, Fault fault) {
  CAPTURE(scenario.name);
  const TempDir dir;
  Tried tried;
  Cutter cutter(scenario, 1, tried);
  for (fault.at = 1;; ++fault.at) {
    CAPTURE(fault.calls);
    CAPTURE(fault.at);
    CAPTURE(fault.error);
    write_tree(before, dir / "work");
    const Ending ending = run_in_child([&] { return scenario.work(dir / "work"); }, dir / "work", fault);
    if (ending.calls < fault.at) break;
    ++tried.points;
    tried.failed += ending.code != 0 ? 1 : 0;
    CAPTURE(ending.code);
    CAPTURE(ending.text);
    check_ending(ending, fault.error == EIO ? 2 : 3);
    const auto acknowledged = acknowledged_in(ending.operations);
    Disk disk(before);
    for (const Operation& one : ending.operations) disk.apply(one);
    cutter.cut(disk, acknowledged, static_cast<std::uint64_t>(fault.at));
    fs::copy(dir / "work", dir / "left", fs::copy_options::recursive);
    const std::string left = problem_of(scenario, dir / "work", acknowledged);
    ++tried.states;
    if (!left.empty()) FAIL_CHECK("as it was left: ", left);
    cutter.cut_after_reopening(disk, dir / "left", acknowledged, static_cast<std::uint64_t>(fault.at));
    fs::remove_all(dir / "left");
  }
  return tried;
}

Tried fail_allocations(const Tree& before, const Scenario& scenario, std::size_t most) {
  CAPTURE(scenario.name);
  const TempDir dir;
  const auto work = [&](const Fault& fault) {
    write_tree(before, dir / "work");
    return run_in_child([&] { return scenario.work(dir / "work"); }, dir / "work", fault);
  };
  REQUIRE(work({kAllocate, 0, 0, false, true}).code == 0);
  const std::vector<long> places = SharedLog::get().allocations();
  const std::size_t step = std::max<std::size_t>(1, (places.size() + most - 1) / most);
  Tried tried;
  for (std::size_t i = 0; i < places.size(); i += step) {
    const Ending ending = work({kAllocate, places[i], ENOMEM, false, false});
    CAPTURE(places[i]);
    CAPTURE(ending.code);
    CAPTURE(ending.text);
    ++tried.points;
    tried.failed += ending.code != 0 ? 1 : 0;
    const bool ended = ending.code == kTerminated && is_ended_by_library(ending.text);
    tried.ended += ended ? 1 : 0;
    if (!ended) check_ending(ending, 3);
    const std::string left = problem_of(scenario, dir / "work", acknowledged_in(ending.operations));
    ++tried.states;
    if (!left.empty()) FAIL_CHECK("as it was left: ", left);
  }
  return tried;
}

}  // namespace unweave::testing
