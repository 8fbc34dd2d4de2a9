// tools/cli/command.cpp - reading a command line, printing its help, turning failures into exit
// codes.
#include "tools/cli/command.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <ostream>
#include <sstream>
#include <system_error>
#include <utility>

#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "storage/io/error.h"
#include "storage/io/map_guard.h"
#include "storage/io/nearest_name.h"
#include "storage/io/plain_text.h"
#include "storage/io/shell_word.h"
#include "tools/cli/completion.h"
#include "tools/cli/man_page.h"
#include "tools/cli/message_style.h"
#include "tools/cli/text_wrap.h"
#include "unweave/version.h"

namespace unweave {
namespace {

constexpr unsigned kHelpTextWidth = 40;  // columns for what stands beside the longest option

/// Long options only: without one-letter options a word such as "-1,2" cannot be mistaken for one.
constexpr int kStyle = po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent |
                       po::command_line_style::long_allow_next;

bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

/// As the help shows them, without blanks at ends of lines.
std::string text_of(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  std::string out;
  std::istringstream in(text.str());
  for (std::string line; std::getline(in, line); out += '\n') out += line.substr(0, line.find_last_not_of(' ') + 1);
  return out;
}

std::string without_dashes(const std::string& word) {
  return word.substr(std::min(word.size(), word.find_first_not_of('-')));
}

/// Boost would swallow the next option as the value of one that lacks it, and leaves repetition to
/// each kind of value.
void check_option(const po::option& option, bool repeatable, std::map<std::string, std::string>& seen) {
  const std::string name = "--" + option.string_key, value = option.value.empty() ? "" : option.value.front();
  const auto [first, is_new] = seen.emplace(option.string_key, value);
  if (!is_new && !repeatable) {
    const bool has_keys = first->second.find('=') != std::string::npos && value.find('=') != std::string::npos;
    throw UsageError(
        "option '" + name + "' is given more than once" +
        (has_keys ? "; give it once, with commas: " + name + " " + shell_word(first->second + ',' + value) : ""));
  }
  if (option.original_tokens.size() == 2 && option.original_tokens[1].starts_with("--")) {
    throw UsageError("option '" + name + "' needs a value, but '" + option.original_tokens[1] + "' follows");
  }
}

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastMemory = 16 * kMiB;

/// Exit code of what the standard library reports of a file: 3 where the machine has run out of
/// something.
int code_of(const std::error_code& error) {
  if (error.category() != std::system_category() && error.category() != std::generic_category()) return 2;
  for (const int exhausted : {ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM})
    if (error.value() == exhausted) return 3;
  return 2;
}

/// In a job of several ranks the first one speaks for all, unless it cannot be told.
int fail(const Console& console, int code, const std::exception& error) {
  Ranks& ranks = Ranks::world();
  if (!ranks.fail(error) || ranks.first())
    // At once: what a launcher says meanwhile must not come between.
    console.error << (std::string(console.program) + ": " + command_text(message_of(error)) + "\n") << std::flush;
  return code;
}

int fail(const Console& console, int code, const std::string& message) {
  if (code == 2) return fail(console, code, DataError(message));
  return fail(console, code, ResourceError(message));
}

constexpr std::size_t kExitCodeWidth = 5;  // with the blanks behind it

void print_overview(std::span<const Command> commands, std::ostream& out) {
  out << "Usage: unweave COMMAND [arguments]\n"
         "       unweave help COMMAND, or unweave COMMAND --help\n"
         "       unweave help --man [COMMAND], or --completion bash, zsh or fish\n"
         "       unweave version\n\n"
         "Out-of-core graph feature propagation and certified unlearning.\n";
  if (commands.empty()) return;
  std::size_t width = 0;
  for (const Command& command : commands) width = std::max(width, command.name.size());
  out << "\nCommands:\n";
  for (const Command& command : commands) {
    out << "  " << command.name << std::string(width + 2 - command.name.size(), ' ') << command.summary << '\n';
  }
  out << "\nExit codes:\n";
  for (const ExitCode& code : kExitCodes)
    out << "  " << code.code << std::string(kExitCodeWidth - code.code.size(), ' ') << code.meaning << '\n';
}

bool asks_for_help(std::string_view word) {
  return word == "--help" || word == "-h";
}

constexpr std::string_view kHelpCommand = "help", kVersionCommand = "version";

/// Throws UsageError where there is none of this name.
const Command& command_named(std::span<const Command> commands, const std::string& name) {
  const auto command = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  if (command != commands.end()) return *command;
  std::vector<std::string_view> names{kHelpCommand, kVersionCommand};
  for (const Command& known : commands) names.push_back(known.name);
  const std::string what = looks_like_option(name) ? "a command must come first, not '" : "unknown command '";
  throw UsageError(what + name + "'" + did_you_mean(without_dashes(name), names) +
                   "; 'unweave --help' lists the commands");
}

/// What a command says of itself, without running it.
CommandHelp help_of(const Command& command, const Console& console) {
  CommandHelp help;
  CommandLine line(command.name, {}, console);
  line.answer_with(help);
  command.run(line);
  help.command = command.name;
  help.summary = command.summary;
  return help;
}

/// `help --man [COMMAND]` and `help --completion SHELL`: the words behind `help`.
void print_for_packages(std::span<const Command> commands, const std::vector<std::string>& words,
                        const Console& console) {
  const bool is_man = words.front() == "--man";
  if (is_man && words.size() == 2)
    return print_man_page(help_of(command_named(commands, words[1]), console), console.out);
  if (words.size() != (is_man ? 1 : 2)) throw UsageError("'unweave help' takes --man [COMMAND] or --completion SHELL");
  std::vector<CommandHelp> all;
  for (const Command& command : commands) all.push_back(help_of(command, console));
  if (is_man)
    print_man_page(all, console.out);
  else
    print_completion(words[1], all, console.out);
}

/// Ranks do one thing together. What each has of its machine may differ.
void require_same_words(const std::vector<std::string>& words) {
  Ranks& job = Ranks::world();
  if (job.alone()) return;
  std::string asked;
  for (auto word = words.begin(); word != words.end(); ++word) {
    const std::string name = word->substr(0, word->find('='));
    if (name == "--memory" || name == "--threads" || name == "--local") {
      if (*word == name && word + 1 != words.end()) ++word;
      continue;
    }
    asked += (asked.empty() ? "" : " ") + *word;
  }
  const std::string first = from_first(asked, job);
  if (first != asked)
    throw UsageError("rank " + std::to_string(job.rank()) + " was asked for '" + asked + "' and rank 0 for '" + first +
                     "'; ask all ranks for the same, but for --memory, --threads and --local");
  job.barrier();  // all were asked for the same
  job.count_from_here();
}

void dispatch(std::span<const Command> commands, const std::vector<std::string>& words, const Console& console) {
  if (words.empty()) throw UsageError("no command given; 'unweave --help' lists the commands");
  const std::string& name = words.front();
  if (name == kHelpCommand && words.size() > 1 && (words[1] == "--man" || words[1] == "--completion"))
    return print_for_packages(commands, {words.begin() + 1, words.end()}, console);
  if (name == kHelpCommand || asks_for_help(name)) {
    if (words.size() > 2) throw UsageError("'unweave " + name + "' takes one command; 'unweave --help' lists them");
    const std::string& of = words.back();
    if (of == kHelpCommand || of == kVersionCommand || asks_for_help(of)) return print_overview(commands, console.out);
    const Command& command = command_named(commands, of);
    CommandLine line(of, {"--help"}, console);
    return command.run(line);
  }
  if (name == kVersionCommand || (name == "--version" && words.size() == 1)) {
    if (words.size() > 1) throw UsageError("'unweave version' takes no arguments");
    console.out << "unweave " << version() << '\n';
    return;
  }
  const Command& command = command_named(commands, name);
  require_same_words(words);
  CommandLine line(name, {words.begin() + 1, words.end()}, console);
  return command.run(line);
}

}  // namespace

CommandLine::CommandLine(std::string_view command, std::vector<std::string> words, Console console)
    : command_(command),
      words_(std::move(words)),
      console_(console),
      options_("Options", kTextWidth, kHelpTextWidth),
      common_description_("Options of every command", kTextWidth, kHelpTextWidth) {
  auto add = common_description_.add_options();
  add("threads", po::value<Count>()->value_name("N")->default_value({0}), "worker threads; 0: one per core");
  add("memory", po::value<Bytes>()->value_name("SIZE"), "budget, such as 512M or 8G; default: 80 % of all memory");
  add("json", po::bool_switch(), "results as JSON, one object a line");
  add("quiet", po::bool_switch(), "neither progress nor notes on standard error");
  add("seed", po::value<Count>()->value_name("N"), "of what is random; for tests, never with private data");
  add("help", po::bool_switch(), "print this text; -h for short");
}

void CommandLine::describe(std::string description, std::vector<std::string> positionals, std::string example) {
  description_ = std::move(description);
  positional_names_ = std::move(positionals);
  example_ = std::move(example);
}

void CommandLine::set_choices(const std::string& name, std::vector<std::string> words) {
  choices_[name] = std::move(words);
}

std::vector<OptionHelp> CommandLine::help_of(const po::options_description& group) const {
  std::vector<OptionHelp> all;
  for (const auto& option : group.options()) {
    OptionHelp one;
    one.name = option->long_name();
    one.meaning = option->description();
    one.repeatable = option->semantic()->is_composing();
    // "VALUE (=default)", and nothing where the option takes no value.
    const std::string value = option->format_parameter();
    const std::size_t bracket = value.find(" (=");
    one.value = value.substr(0, bracket);
    if (bracket != std::string::npos) one.default_value = value.substr(bracket + 3, value.size() - bracket - 4);
    if (const auto words = choices_.find(one.name); words != choices_.end()) one.choices = words->second;
    all.push_back(std::move(one));
  }
  return all;
}

bool CommandLine::parse() {
  if (asked_help_ != nullptr) {
    *asked_help_ = {command_,
                    {},
                    description_,
                    positional_names_,
                    {},
                    help_of(options_),
                    help_of(unlisted_),
                    help_of(common_description_),
                    example_};
    if (!positional_names_.empty())
      if (const auto words = choices_.find(positional_names_.front()); words != choices_.end())
        asked_help_->first_choices = words->second;
    return false;
  }
  if (std::any_of(words_.begin(), words_.end(), asks_for_help)) {
    print_help();
    return false;
  }
  if (print_topic()) return false;
  try {
    store_values();
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; see 'unweave " + command_ + " --help'");
  } catch (const UsageError& error) {
    throw UsageError(error.message() + "; see 'unweave " + command_ + " --help'");
  }
  take_common_options();
  interrupt_.emplace();
  on_interrupt("nothing was changed; run the command again");
  return true;
}

void CommandLine::on_interrupt(std::string_view text) {
  if (Ranks::world().first()) interrupt_->set("interrupted: " + printable(text));
}

void CommandLine::refuse_option(const std::string& word) const {
  std::vector<std::string_view> names;
  for (const po::options_description* group : {&options_, &unlisted_, &common_description_})
    for (const auto& option : group->options()) names.push_back(option->long_name());
  const std::string_view meant = nearest_name(without_dashes(word), names);
  throw UsageError("unrecognised option '" + word + "'" +
                   (meant.empty() ? std::string() : " (did you mean '--" + std::string(meant) + "'?)"));
}

po::parsed_options CommandLine::read_words(const po::options_description& all) const {
  try {
    return po::command_line_parser(words_).options(all).style(kStyle).run();
  } catch (const po::unknown_option& error) {
    refuse_option(error.get_option_name());
  }
}

void CommandLine::store_values() {
  po::options_description all;
  all.add(options_).add(unlisted_).add(common_description_);
  const po::parsed_options parsed = read_words(all);
  std::map<std::string, std::string> seen;
  for (const po::option& option : parsed.options) {
    if (!option.string_key.empty()) {
      check_option(option, all.find(option.string_key, false).semantic()->is_composing(), seen);
      continue;
    }
    for (const std::string& word : option.value) {
      if (looks_like_option(word)) refuse_option(word);
      positionals_.push_back(word);
    }
  }
  if (positionals_.size() < positional_names_.size() && !positional_names_[positionals_.size()].starts_with('[')) {
    throw UsageError("argument " + positional_names_[positionals_.size()] + " is missing");
  }
  const bool any_number = !positional_names_.empty() && positional_names_.back().ends_with("...]");
  if (!any_number && positionals_.size() > positional_names_.size()) {
    throw UsageError("unexpected argument '" + positionals_[positional_names_.size()] + "'");
  }
  po::store(parsed, values_);
  po::notify(values_);
}

void CommandLine::take_common_options() {
  common_.threads = get<Count>("threads").value;
  const std::size_t here = Ranks::world().on_this_machine();
  common_.memory_bytes = has("memory") ? get<Bytes>("memory").value : default_memory_limit() / here;
  if (common_.memory_bytes < kLeastMemory) throw UsageError("--memory: at least 16M, which the program takes anyway");
  common_.json = get<bool>("json");
  common_.quiet = get<bool>("quiet");
  if (has("seed")) common_.seed = get<Count>("seed").value;
  if (common_.threads == 0 && here > 1) common_.threads = std::max<std::size_t>(1, active_threads() / here);
  thread_limit_.emplace(common_.threads);
}

void CommandLine::print_help() const {
  std::ostream& out = console_.out;
  out << "Usage: " << console_.program << ' ' << command_;
  for (const std::string& name : positional_names_) out << ' ' << name;
  out << " [options]\n\n" << rewrapped(description_) << "\n\n";
  if (!options_.options().empty()) out << text_of(options_) << '\n';
  out << text_of(common_description_) << "\nExample:\n  " << example_ << '\n';
}

void CommandLine::add_topic(std::string option, const std::string& value_name, const std::string& meaning,
                            std::function<std::string(const std::string&)> text) {
  options_.add_options()(option.c_str(), po::value<std::string>()->value_name(value_name), meaning.c_str());
  topic_ = std::move(option);
  topic_text_ = std::move(text);
}

bool CommandLine::print_topic() const {
  if (topic_.empty()) return false;
  const std::string option = "--" + topic_;
  for (auto word = words_.begin(); word != words_.end(); ++word) {
    if (*word == option && word + 1 != words_.end()) {
      console_.out << topic_text_(*(word + 1));
      return true;
    }
    if (!word->starts_with(option + "=")) continue;
    console_.out << topic_text_(word->substr(option.size() + 1));
    return true;
  }
  return false;
}

bool shares_work(std::span<const Command> commands, const std::vector<std::string>& words) {
  if (words.empty()) return false;
  const auto command =
      std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == words[0]; });
  if (command == commands.end() || !command->over_ranks) return false;
  // Jobs of columns know nothing of each other, whoever has begun them.
  return std::none_of(words.begin(), words.end(), [](const std::string& word) {
    return asks_for_help(word) || word.starts_with("--tile") || word == "--assemble";
  });
}

int run_program(std::span<const Command> commands, const std::vector<std::string>& words, const Console& console) {
  try {
    dispatch(commands, words, console);
    require_whole_files();  // else what was printed may come from zeros
    const bool speaks = Ranks::world().first();
    if (speaks && !console.out.flush()) throw ResourceError("cannot write to standard output; is the disk full?");
    Ranks::world().barrier();  // where another rank has failed, this one has not done its work either
    return 0;
  } catch (const UsageError& error) {
    return fail(console, 1, error);
  } catch (const po::error& error) {
    return fail(console, 1, UsageError(error.what()));
  } catch (const DataError& error) {
    return fail(console, 2, error);
  } catch (const ResourceError& error) {
    return fail(console, 3, error);
  } catch (const CheckError& error) {
    return fail(console, 4, error);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(console, code_of(error.code()), error.path1().string() + ": " + error.code().message());
  } catch (const std::bad_alloc&) {
    return fail(console, 3, "out of memory; lower --memory or free some memory");
  } catch (const std::exception& error) {
    return fail(console, 3, std::string("internal error: ") + error.what());
  } catch (...) {
    return fail(console, 3, "internal error of an unknown kind");
  }
}

void CommandLine::note(const std::string& text) const {
  if (!common_.quiet && Ranks::world().first()) console_.error << ("note: " + printable(text) + '\n') << std::flush;
}

void CommandLine::require_outside(const std::string& option, const std::filesystem::path& store) const {
  if (has(option) && get<std::string>(option) != "-") require_outside(option, get<std::string>(option), store);
}

void CommandLine::require_outside(const std::string& option, const std::filesystem::path& path,
                                  const std::filesystem::path& store) {
  const std::filesystem::path from =
      std::filesystem::weakly_canonical(path).lexically_relative(std::filesystem::weakly_canonical(store));
  if (!from.empty() && *from.begin() != "..")
    throw UsageError("--" + option + ": name a file outside the store; a purge would not reach what it holds");
}

}  // namespace unweave
