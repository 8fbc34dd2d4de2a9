// tools/cli/man_page.cpp - texts of the help as roff: escaped, with the macros of man(7).
#include "tools/cli/man_page.h"

#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include "unweave/version.h"

namespace unweave {
namespace {

constexpr std::string_view kPurpose = "out-of-core graph propagation and certified unlearning";

/// Characters that roff would take for its own, or print as typographic ones, which nobody can
/// paste into a shell.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '"':
        out += "\\(dq";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// As a line of text of its own: a point at its beginning would be a request.
std::string text_line(std::string_view text) {
  return (text.starts_with('.') ? "\\&" : "") + escaped(text) + '\n';
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + escaped(text) + "\\fR";
}

/// Lines that are not filled: tables and examples.
class Verbatim {
 public:
  explicit Verbatim(std::ostream& out) : out_(out) {}
  void open() {
    if (!is_open_) out_ << ".PP\n.nf\n";
    is_open_ = true;
  }
  void close() {
    if (is_open_) out_ << ".fi\n";
    is_open_ = false;
  }

 private:
  std::ostream& out_;
  bool is_open_ = false;
};

/// Running text: what ends a sentence at the end of a line ends the line, as in the help; lines
/// that begin with a blank stay as they are.
void print_text(const std::string& text, std::ostream& out) {
  Verbatim verbatim(out);
  bool breaks = false;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) {
      verbatim.close();
      out << ".PP\n";
      breaks = false;
    } else if (line.front() == ' ') {
      verbatim.open();
      out << text_line(line);
      breaks = false;
    } else {
      verbatim.close();
      if (breaks) out << ".br\n";
      out << text_line(line);
      breaks = line.back() == '.' || line.back() == ':';
    }
  }
  verbatim.close();
}

void print_title(const std::string& name, std::ostream& out) {
  out << ".TH \"" << escaped(name) << "\" 1 \"\" \"Unweave " << version() << "\" \"User Commands\"\n";
  out << ".nh\n.ad l\n";  // names with hyphens stay whole
}

void print_options(const std::string& title, const std::vector<OptionHelp>& options, std::ostream& out) {
  if (options.empty()) return;
  out << ".SH \"" << title << "\"\n";
  for (const OptionHelp& option : options) {
    out << ".TP\n" << bold("--" + option.name);
    if (!option.value.empty()) out << ' ' << italic(option.value);
    if (!option.default_value.empty()) out << " (=" << escaped(option.default_value) << ')';
    out << '\n' << text_line(option.meaning);
  }
}

void print_exit_codes(std::ostream& out) {
  out << ".SH \"EXIT STATUS\"\n";
  for (const ExitCode& code : kExitCodes) out << ".TP\n" << bold(code.code) << '\n' << text_line(code.meaning);
}

}  // namespace

void print_man_page(const CommandHelp& help, std::ostream& out) {
  const std::string page = "unweave-" + help.command;
  print_title(page, out);
  out << ".SH NAME\n" << escaped(page) << " \\- " << text_line(help.summary);
  out << ".SH SYNOPSIS\n" << bold("unweave " + help.command);
  for (const std::string& name : help.positionals) out << ' ' << italic(name);
  out << " [" << italic("options") << "]\n.SH DESCRIPTION\n";
  print_text(help.description, out);
  print_options("OPTIONS", help.options, out);
  print_options("OPTIONS OF EVERY COMMAND", help.common, out);
  out << ".SH EXAMPLES\n";
  print_text("  " + help.example + "\n", out);
  print_exit_codes(out);
  out << ".SH \"SEE ALSO\"\n" << bold("unweave") << "(1)\n";
}

void print_man_page(std::span<const CommandHelp> all, std::ostream& out) {
  print_title("unweave", out);
  out << ".SH NAME\nunweave \\- " << text_line(kPurpose);
  out << ".SH SYNOPSIS\n"
      << bold("unweave") << ' ' << italic("COMMAND") << " [" << italic("arguments") << "]\n.br\n"
      << bold("unweave help") << " [" << italic("COMMAND") << "]\n.br\n"
      << bold("unweave help --man") << " [" << italic("COMMAND") << "]\n.br\n"
      << bold("unweave help --completion") << ' ' << italic("SHELL") << "\n.br\n"
      << bold("unweave version") << "\n.SH DESCRIPTION\n";
  print_text(
      "Keeps a graph with the features and labels of its nodes in a folder, the store, computes feature\n"
      "propagations of it within a budget of memory, trains models on them, and removes nodes, edges and\n"
      "features from all of these, with certificates. Each command has a manual page of its own.",
      out);
  out << ".SH COMMANDS\n";
  for (const CommandHelp& one : all)
    out << ".TP\n" << bold("unweave-" + one.command) << "(1)\n" << text_line(one.summary);
  out << ".TP\n"
      << bold("unweave help") << '\n'
      << text_line("say what there is, or what a command takes; with --man as a manual page; with --completion what a")
      << text_line("shell, bash, zsh or fish, reads to complete commands and options") << ".TP\n"
      << bold("unweave version") << '\n'
      << text_line("say which version this is");
  if (!all.empty()) print_options("OPTIONS OF EVERY COMMAND", all.front().common, out);
  print_exit_codes(out);
  out << ".SH \"SEE ALSO\"\n";
  for (const CommandHelp& one : all)
    out << bold("unweave-" + one.command) << "(1)" << (&one == &all.back() ? "\n" : ",\n");
}

}  // namespace unweave
