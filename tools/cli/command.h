// tools/cli/command.h - how a command meets the command line: its options, its help, its exit code.
//
// A command is a function in tools/commands/<name>.cpp, a declaration in tools/commands/commands.h
// and a line in tools/commands/commands.cpp. It works through the library's public headers,
// algorithms/api/unweave:
//
//   void run_info(CommandLine& line) {
//     line.describe("Prints what a store holds.", {"STORE"}, "unweave info demo/debian.store");
//     line.options().add_options()("sample",
//     po::value<Count>()->value_name("K")->default_value({100}), "rows to check");
//     if (!line.parse()) return;  // --help was asked for and printed
//     Resources resources({line.common().memory_bytes});
//     const Reader reader(line.positional(0), resources);  // or a Writer, for a command that changes the store
//     const std::uint64_t sample = line.get<Count>("sample").value;
//     ...
//   }
//
// It prints results on line.out(), never on std::cout, and fails by throwing: UsageError,
// DataError, ResourceError or CheckError of storage/io/error.h. run_program() turns these into exit
// codes and one line on standard error.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/resources/parallel.h"
#include "tools/cli/command_help.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/option_values.h"

namespace unweave {

namespace po = boost::program_options;

/// Where a command writes.
struct Console {
  std::ostream& out;          ///< results, and nothing else
  std::ostream& error;        ///< the one line of a failure; progress
  bool terminal;              ///< somebody watches `error`
  bool out_terminal = false;  ///< and `out`: no place for binary data
  std::string_view program = "unweave";
  /// Descriptors behind `out` and `error`; -1: there are none.
  int out_descriptor = -1, error_descriptor = -1;
};

/// The options that every command has.
struct CommonOptions {
  std::size_t threads = 0;         ///< 0: one per core. Already in force when parse() returns
  std::uint64_t memory_bytes = 0;  ///< the budget of this process, never 0
  bool json = false;               ///< one object a line on `out`, no other output there
  bool quiet = false;              ///< no progress and no remarks
  std::optional<std::uint64_t> seed;
};

/// The arguments of one run of one command. Rules: options may stand anywhere, are never
/// abbreviated and never repeated; there are no one-letter options but -h, so "-" and "-1,2" are
/// values.
class CommandLine {
 public:
  CommandLine(std::string_view command, std::vector<std::string> words, Console console);

  /// Texts of the help, and the names of the positional arguments. A name in brackets, "[STORE]",
  /// may be left out; such names come last. The last one may end in dots, "[FILE...]", and stands
  /// for any number of arguments.
  void describe(std::string description, std::vector<std::string> positionals, std::string example);

  /// The command's own options: add to these before parse().
  [[nodiscard]] po::options_description& options() noexcept { return options_; }

  /// Options that are read like those of options(), but not listed in the help, which names where
  /// they are.
  [[nodiscard]] po::options_description& unlisted_options() noexcept { return unlisted_; }

  /// What an option or a positional argument takes, where these are fixed words: for completion in
  /// a shell alone.
  void set_choices(const std::string& name, std::vector<std::string> words);

  /// A second help: --OPTION NAME prints `text(NAME)` in the place of all else. One a command.
  void add_topic(std::string option, const std::string& value_name, const std::string& meaning,
                 std::function<std::string(const std::string&)> text);

  /// Reads the words and puts --threads in force for the lifetime of this object. False if the help
  /// was printed instead. Throws UsageError.
  [[nodiscard]] bool parse();

  /// From now on parse() fills in `help` and returns false, whatever the words are.
  void answer_with(CommandHelp& help) noexcept { asked_help_ = &help; }

  /// What Ctrl-C and SIGTERM print from now on: what is safe, and how to go on. After parse(),
  /// which says that nothing was changed: for a command that writes. `text` has to be true until
  /// the command ends.
  void on_interrupt(std::string_view text);

  /// After parse(): the i-th positional argument; whether there is one; whether an option was given
  /// or has a default; its value.
  [[nodiscard]] const std::string& positional(std::size_t i) const { return positionals_.at(i); }
  [[nodiscard]] bool has_positional(std::size_t i) const { return i < positionals_.size(); }
  [[nodiscard]] std::span<const std::string> positionals() const noexcept { return positionals_; }
  [[nodiscard]] bool has(const std::string& option) const { return values_.count(option) > 0; }
  /// Throws UsageError where the option is given and names a file in the folder of a store: no
  /// purge would reach it. "-" is no file.
  void require_outside(const std::string& option, const std::filesystem::path& store) const;
  /// Likewise of a path that a part of an option's value names.
  static void require_outside(const std::string& option, const std::filesystem::path& path,
                              const std::filesystem::path& store);
  template <class T>
  [[nodiscard]] const T& get(const std::string& option) const {
    return values_.at(option).as<T>();
  }
  /// True if the user wrote the option, whatever its default.
  [[nodiscard]] bool given(const std::string& option) const { return has(option) && !values_[option].defaulted(); }
  [[nodiscard]] const CommonOptions& common() const noexcept { return common_; }

  [[nodiscard]] std::ostream& out() const noexcept { return console_.out; }
  [[nodiscard]] std::ostream& error() const noexcept { return console_.error; }
  [[nodiscard]] bool out_is_terminal() const noexcept { return console_.out_terminal; }
  [[nodiscard]] int out_descriptor() const noexcept { return console_.out_descriptor; }
  [[nodiscard]] int error_descriptor() const noexcept { return console_.error_descriptor; }
  /// One line on standard error, "note: ...", unless --quiet; what is no plain text in it as
  /// printable() has it.
  void note(const std::string& text) const;
  /// Whether a progress meter has a reader.
  [[nodiscard]] bool shows_progress() const noexcept { return console_.terminal && !common_.quiet; }

 private:
  [[noreturn]] void refuse_option(const std::string& word) const;
  [[nodiscard]] po::parsed_options read_words(const po::options_description& all) const;
  void store_values();
  void take_common_options();
  void print_help() const;
  [[nodiscard]] std::vector<OptionHelp> help_of(const po::options_description& group) const;
  /// Whether a text of add_topic() was asked for.
  [[nodiscard]] bool print_topic() const;

  std::string command_;
  std::vector<std::string> words_;
  Console console_;
  std::string description_, example_;
  std::vector<std::string> positional_names_, positionals_;
  po::options_description options_, unlisted_, common_description_;
  std::map<std::string, std::vector<std::string>> choices_;
  CommandHelp* asked_help_ = nullptr;
  std::string topic_;
  std::function<std::string(const std::string&)> topic_text_;
  po::variables_map values_;
  CommonOptions common_;
  std::optional<ThreadLimit> thread_limit_;
  std::optional<InterruptText> interrupt_;
};

/// One line of the table of commands.
struct Command {
  std::string_view name;
  std::string_view summary;  ///< one line, no full stop
  void (*run)(CommandLine& line);
  bool over_ranks = false;  ///< several ranks can share its work (engine/ranks/ranks.h)
};

/// Whether these words ask for work that the ranks of a job share. All else is done by each process
/// of a launcher for itself.
[[nodiscard]] bool shares_work(std::span<const Command> commands, const std::vector<std::string>& words);

/// Runs the command that the first word names and returns the exit code: 0 done, 1 wrong usage, 2
/// bad or unreadable data, 3 out of resources or a bug, 4 a check did not hold. Every failure
/// prints exactly one line, "unweave: ...", on console.error. help, help COMMAND and version, or
/// -h, --help and --version, print on console.out. help --man and help --completion print what
/// packages install, made of the tables of options. In a job of several ranks all end together:
/// whatever a rank throws, the first one prints.
[[nodiscard]] int run_program(std::span<const Command> commands, const std::vector<std::string>& words,
                              const Console& console);

}  // namespace unweave
