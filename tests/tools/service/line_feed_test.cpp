// tests/tools/service/line_feed_test.cpp - lines of files that are replaced and of pipes whose
// writers come and go.
#include "tools/service/line_feed.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using Next = LineFeed::Next;

/// "line:TEXT", "cut:TEXT", "timeout" or "end".
std::string next_of(LineFeed& feed, std::chrono::milliseconds wait = std::chrono::milliseconds(200)) {
  std::string line;
  switch (feed.next(line, std::chrono::steady_clock::now() + wait)) {
    case Next::line:
      return "line:" + line;
    case Next::cut:
      return "cut:" + line;
    case Next::timeout:
      return "timeout";
    default:
      return "end";
  }
}

void append(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app) << text;
}

/// A writer of a named pipe, which opens it, writes and closes it.
void write_pipe(const fs::path& pipe, const std::string& text) {
  const int descriptor = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  REQUIRE(::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(descriptor);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "a file that is replaced is read to its end, what has no end there stays apart, and the other one follows") {
    const testing::TempDir dir;
    const fs::path file = dir / "f", next = dir / "g";
    append(file, "one\ntwo");
    LineFeed feed(file, true, 100);
    CHECK(next_of(feed) == "line:one");
    CHECK(next_of(feed) == "timeout");
    append(file, " and more\nthree\nfo");
    append(next, "five\n");
    fs::rename(next, file);
    CHECK(next_of(feed) == "line:two and more");
    CHECK(next_of(feed) == "line:three");
    CHECK(next_of(feed) == "cut:fo");
    CHECK(feed.number() == 4);
    CHECK(next_of(feed) == "line:five");
    CHECK(feed.number() == 1);
    CHECK(next_of(feed) == "timeout");
    append(file, "six\n");
    CHECK(next_of(feed) == "line:six");
    fs::resize_file(file, 3);
    CHECK_THROWS_WITH_AS(static_cast<void>(next_of(feed)), doctest::Contains("shorter"), DataError);
  }

  TEST_CASE("what a writer of a named pipe leaves without an end is not joined with what the next one writes") {
    const testing::TempDir dir;
    const fs::path pipe = dir / "p";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    LineFeed feed(pipe, true, 100);
    CHECK(next_of(feed, std::chrono::milliseconds(20)) == "timeout");
    write_pipe(pipe, "one\n# from host A");
    CHECK(next_of(feed) == "line:one");
    CHECK(next_of(feed) == "cut:# from host A");
    write_pipe(pipe, "two\n");
    CHECK(next_of(feed) == "line:two");
    write_pipe(pipe, "");
    CHECK(next_of(feed, std::chrono::milliseconds(20)) == "timeout");
    write_pipe(pipe, "three\n");
    write_pipe(pipe, "four\n");  // before anything of the one before was read
    CHECK(next_of(feed) == "line:three");
    CHECK(next_of(feed) == "line:four");
    CHECK(next_of(feed, std::chrono::milliseconds(20)) == "timeout");
  }

  TEST_CASE("what is not followed has an end, and its last line counts") {
    const testing::TempDir dir;
    append(dir / "f", "one\r\ntwo");
    LineFeed feed(dir / "f", false, 100);
    CHECK(next_of(feed) == "line:one");
    CHECK(next_of(feed) == "line:two");
    CHECK(next_of(feed) == "end");
  }
}

}  // namespace unweave
