// tests/storage/io/message_test.cpp - messages that name options by their keys, in every style, and
// the errors that hold them.
#include "storage/io/message.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/plain_text.h"

namespace unweave {
namespace {

using Keys = std::vector<std::string>;

constexpr MessageStyle kFlags{"--", " ", "", "`unweave ", "`"};
constexpr MessageStyle kTags{"<", ":", ">", "[", "]"};

TEST_SUITE("unit") {
  TEST_CASE("an option is shown by its key alone, and as a style has it") {
    const std::string message = "out of memory; raise " + option("memory") + ", or " + option("r-max2") + "!";
    CHECK(plain(message) == "out of memory; raise memory, or r-max2!");
    CHECK(shown(message, kFlags) == "out of memory; raise --memory, or --r-max2!");
    CHECK(shown(message, kTags) == "out of memory; raise <memory>, or <r-max2>!");
    CHECK(message != plain(message));
  }

  TEST_CASE("an option may have a value, of any characters but marks, or an empty one") {
    const std::string message =
        option("rows", "all") + " " + option("set", "epochs=...") + " " + option("key", "a b/c");
    CHECK(plain(message) == "rows=all set=epochs=... key=a b/c");
    CHECK(shown(message, kFlags) == "--rows all --set epochs=... --key a b/c");
    CHECK(shown(message, kTags) == "<rows:all> <set:epochs=...> <key:a b/c>");
    CHECK(plain(option("name", "")) == "name=");
  }

  TEST_CASE("an operation is shown with the options among its arguments") {
    const std::string message =
        "run " + operation("propagate a.store " + option("rows", "all") + ' ' + option("json")) + " first";
    CHECK(plain(message) == "run `propagate a.store rows=all json` first");
    CHECK(shown(message, kFlags) == "run `unweave propagate a.store --rows all --json` first");
    CHECK(shown(message, kTags) == "run [propagate a.store <rows:all> <json>] first");
    CHECK(plain(operation("train") + operation("verify")) == "`train``verify`");
  }

  TEST_CASE("the keys of a message are told once each, in order") {
    CHECK(options_in("").empty());
    CHECK(options_in("raise memory").empty());
    CHECK(options_in(option("tau") + " or " + option("lambda", "1") + ", " + option("tau", "2")) ==
          Keys{"tau", "lambda"});
    CHECK(options_in(operation("stream s " + option("requests", "-") + option("name", "n")) + option("set")) ==
          Keys{"requests", "name", "set"});
  }

  TEST_CASE("texts without whole marks are shown as they are, as far as terminals do not obey them") {
    for (const std::string text : {"", "--memory", "a\nb", "\x01", "\x01memory", "\x01\x03", "\x01two words\x03",
                                   "\x02\x03", "\x04", "\x05 \x04", "\x04verify", "a\x01/c\x02.npy", "\xff\xfe"}) {
      CAPTURE(text);
      CHECK(plain(text) == printable(text));
      CHECK(shown(text, kTags) == printable(text));
      CHECK(options_in(text).empty());
    }
    CHECK(plain("/tmp/\x01/\x04: raise " + option("memory")) == "/tmp/\\x01/\\x04: raise memory");
    const std::string path = "/tmp/\x1B[2J\xC2\x9B\xE2\x80\xAE\xFF";
    const DataError error(path + ": cannot be read; run " + operation("verify " + path));
    const std::string shown_path = "/tmp/\\x1B[2J\\xC2\\x9B\\xE2\\x80\\xAE\\xFF";
    CHECK(std::string(error.what()) == shown_path + ": cannot be read; run `verify " + shown_path + "`");
    CHECK(error.message().starts_with(path));
  }

  TEST_CASE("an error says its message in plain words, and keeps the marks and the keys") {
    const std::string message = "no room; raise " + option("memory") + " or take " + option("rows", "labelled");
    const ResourceError error(message);
    CHECK(std::string(error.what()) == "no room; raise memory or take rows=labelled");
    CHECK(error.message() == message);
    CHECK(error.options() == Keys{"memory", "rows"});
    CHECK(unweave::message_of(error) == message);
    CHECK(unweave::message_of(std::runtime_error("plain")) == "plain");
    try {
      throw error;  // by a copy
    } catch (const Error& caught) {
      CHECK(caught.message() == message);
    }
  }

  TEST_CASE("an error of a file keeps the marks of what it was made of") {
    const InputError input("e.txt", "line 3", "a weight", "give " + option("ignore-weights"));
    CHECK(std::string(input.what()) == "e.txt: line 3: a weight; give ignore-weights");
    CHECK(input.place == "line 3");
    CHECK(input.options() == Keys{"ignore-weights"});
    const RecordError record("j", "it is short", "run " + operation("repair s " + option("cut-journal")));
    CHECK(std::string(record.what()) == "j: it is short; restore the file from a copy, or run `repair s cut-journal`");
    CHECK(record.options() == Keys{"cut-journal"});
    const FormatError format("m", "byte 8", "train with " + option("key"));
    CHECK(format.fault == "byte 8: train with " + option("key"));
    CHECK(std::string(format.what()).starts_with("m: byte 8: train with key; "));
  }

  TEST_CASE("every kind of error is an Error") {
    const auto caught = [](const auto& error) {
      try {
        throw error;
      } catch (const Error& found) {
        return found.message();
      }
    };
    CHECK(caught(UsageError("a")) == "a");
    CHECK(caught(DataError("b")) == "b");
    CHECK(caught(ResourceError("c")) == "c");
    CHECK(caught(CheckError("d")) == "d");
  }
}

}  // namespace
}  // namespace unweave
