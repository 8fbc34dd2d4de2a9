// tools/cli/completion.cpp - the completions of bash, zsh and fish: commands, options, fixed words,
// names of files.
#include "tools/cli/completion.h"

#include <array>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/nearest_name.h"

namespace unweave {
namespace {

constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

/// Commands of the program itself, without options.
constexpr std::pair<std::string_view, std::string_view> kOwnCommands[] = {
    {"help", "say what there is, or what a command takes"}, {"version", "say which version this is"}};

/// Whether a value is the name of a file or folder, by how the help names it.
bool names_file(const std::string& value) {
  for (const std::string_view name : {"F", "FILE", "DIR", "COPY"})
    if (value == name) return true;
  return value.ends_with(".npy");
}

/// All that a command reads, in the order of its help.
std::vector<OptionHelp> options_of(const CommandHelp& help) {
  std::vector<OptionHelp> all = help.options;
  all.insert(all.end(), help.unlisted.begin(), help.unlisted.end());
  all.insert(all.end(), help.common.begin(), help.common.end());
  return all;
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> names_of(std::span<const CommandHelp> all) {
  std::vector<std::string> names;
  for (const CommandHelp& one : all) names.push_back(one.command);
  return names;
}

/// With a backslash before each of these characters.
std::string with_backslashes(std::string_view text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Between single quotes of bash and zsh.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// --- bash

/// Patterns "command:--option" that a case of the shell takes for one.
class Patterns {
 public:
  void add(const std::string& command, const std::string& option) {
    text_ += (text_.empty() ? "" : " | ") + command + ":--" + option;
  }
  void print(std::ostream& out, const std::string& action) const {
    if (!text_.empty()) out << "    " << text_ << ")\n      " << action << "\n      return ;;\n";
  }

 private:
  std::string text_;
};

void print_bash(std::span<const CommandHelp> all, std::ostream& out) {
  out << "# bash completion of unweave, as `unweave help --completion bash` prints it.\n"
         "_unweave_words() {\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\")\n"
         "}\n"
         "_unweave_files() {\n"
         "  compopt -o filenames 2> /dev/null\n"
         "  mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "}\n"
         "_unweave() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
         "  COMPREPLY=()\n"
         "  # The shell takes --option=value for three words.\n"
         "  if [[ $current == '=' ]]; then\n"
         "    current=\n"
         "  elif [[ $previous == '=' ]]; then\n"
         "    previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "  fi\n"
         "  local commands="
      << shell_quoted(joined_words(names_of(all)) + " help version")
      << "\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    _unweave_words \"$commands --help --version\"\n"
         "    return\n"
         "  fi\n"
         "  case $command:$previous in\n";
  Patterns files, others;
  for (const CommandHelp& help : all) {
    for (const OptionHelp& option : options_of(help)) {
      if (option.value.empty()) continue;
      if (!option.choices.empty()) {
        Patterns one;
        one.add(help.command, option.name);
        one.print(out, "_unweave_words " + shell_quoted(joined_words(option.choices)));
      } else {
        (names_file(option.value) ? files : others).add(help.command, option.name);
      }
    }
  }
  files.print(out, "_unweave_files");
  others.print(out, ":");
  Patterns shells;
  shells.add("help", "completion");
  shells.print(out, "_unweave_words 'bash zsh fish'");
  out << "  esac\n"
         "  if [[ $current != -* ]]; then\n"
         "    case $command:$COMP_CWORD in\n"
         "      help:*) _unweave_words \"$commands\" ;;\n"
         "      version:*) ;;\n";
  for (const CommandHelp& help : all)
    if (!help.first_choices.empty())
      out << "      " << help.command << ":2) _unweave_words " << shell_quoted(joined_words(help.first_choices))
          << " ;;\n";
  out << "      *) _unweave_files ;;\n"
         "    esac\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n";
  for (const CommandHelp& help : all) {
    std::vector<std::string> options;
    for (const OptionHelp& option : options_of(help)) options.push_back("--" + option.name);
    out << "    " << help.command << ") _unweave_words " << shell_quoted(joined_words(options)) << " ;;\n";
  }
  out << "    help) _unweave_words '--man --completion' ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _unweave unweave\n";
}

// --- zsh

std::string zsh_spec(const OptionHelp& option) {
  std::string spec = (option.repeatable ? "*--" : "--") + option.name;
  spec += (option.value.empty() ? "[" : "=[") + with_backslashes(option.meaning, "\\[]:") + "]";
  if (option.value.empty()) return shell_quoted(spec);
  spec += ":" + with_backslashes(option.value, "\\[]:") + ":";
  if (!option.choices.empty())
    spec += "(" + joined_words(option.choices) + ")";
  else
    spec += names_file(option.value) ? "_files" : " ";
  return shell_quoted(spec);
}

void print_zsh(std::span<const CommandHelp> all, std::ostream& out) {
  out << "#compdef unweave\n"
         "# zsh completion of unweave, as `unweave help --completion zsh` prints it.\n"
         "_unweave() {\n"
         "  local -a commands=(\n";
  const auto add = [&](std::string_view name, std::string_view summary) {
    out << "    " << shell_quoted(std::string(name) + ":" + with_backslashes(summary, "\\:")) << '\n';
  };
  for (const CommandHelp& help : all) add(help.command, help.summary);
  for (const auto& [name, summary] : kOwnCommands) add(name, summary);
  out << "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $command in\n";
  for (const CommandHelp& help : all) {
    out << "    " << help.command << ")\n      _arguments";
    for (const OptionHelp& option : options_of(help)) out << " \\\n        " << zsh_spec(option);
    if (!help.first_choices.empty())
      out << " \\\n        " << shell_quoted("1:argument:(" + joined_words(help.first_choices) + ")");
    if (!help.positionals.empty()) out << " \\\n        '*:argument:_files'";
    out << " ;;\n";
  }
  out << "    help)\n"
         "      _arguments '--man[as a manual page]' '--completion=[what a shell reads]:shell:(bash zsh fish)' \\\n"
         "        "
      << shell_quoted("1:command:(" + joined_words(names_of(all)) + ")")
      << " ;;\n"
         "  esac\n"
         "}\n"
         "_unweave \"$@\"\n";
}

// --- fish

std::string fish_quoted(std::string_view text) {
  return "'" + with_backslashes(text, "\\'") + "'";
}

void print_fish(std::span<const CommandHelp> all, std::ostream& out) {
  out << "# fish completion of unweave, as `unweave help --completion fish` prints it.\n"
         "complete -c unweave -f\n"
         "complete -c unweave -n 'not __fish_use_subcommand; and not __fish_seen_subcommand_from help version' -F\n";
  const auto add = [&](std::string_view name, std::string_view summary) {
    out << "complete -c unweave -n __fish_use_subcommand -a " << name << " -d " << fish_quoted(summary) << '\n';
  };
  for (const CommandHelp& help : all) add(help.command, help.summary);
  for (const auto& [name, summary] : kOwnCommands) add(name, summary);
  for (const CommandHelp& help : all) {
    const std::string begin = "complete -c unweave -n '__fish_seen_subcommand_from " + help.command + "'";
    if (!help.first_choices.empty()) out << begin << " -a " << fish_quoted(joined_words(help.first_choices)) << '\n';
    for (const OptionHelp& option : options_of(help)) {
      out << begin << " -l " << option.name;
      if (!option.choices.empty())
        out << " -x -a " << fish_quoted(joined_words(option.choices));
      else if (!option.value.empty())
        out << (names_file(option.value) ? " -r -F" : " -x");
      out << " -d " << fish_quoted(option.meaning) << '\n';
    }
  }
  const std::string help = "complete -c unweave -n '__fish_seen_subcommand_from help' ";
  out << help << "-a " << fish_quoted(joined_words(names_of(all))) << '\n'
      << help << "-l man -d 'as a manual page'\n"
      << help << "-l completion -x -a 'bash zsh fish' -d 'what a shell reads'\n";
}

}  // namespace

void print_completion(const std::string& shell, std::span<const CommandHelp> all, std::ostream& out) {
  if (shell == "bash") return print_bash(all, out);
  if (shell == "zsh") return print_zsh(all, out);
  if (shell == "fish") return print_fish(all, out);
  throw UsageError("help: no completion for '" + shell + "'" + did_you_mean(shell, kShells) +
                   "; use bash, zsh or fish");
}

}  // namespace unweave
