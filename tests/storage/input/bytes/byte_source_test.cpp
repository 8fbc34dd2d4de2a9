// tests/storage/input/bytes/byte_source_test.cpp - plain, gzip, zstd and zip bytes, whole, cut at
// every byte and with flipped bits.
#include "storage/input/bytes/byte_source.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <functional>
#include <random>
#include <thread>

#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

std::string read_everything(const InputFile& file, std::size_t piece = 1000) {
  ByteSource source(file);
  std::string bytes;
  std::string buffer(piece, '\0');
  while (const std::size_t got = source.read(buffer)) bytes.append(buffer, 0, got);
  return bytes;
}

/// Text that compresses, but not to nothing.
std::string sample(std::size_t bytes) {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < bytes) text += std::to_string(random() % 5000) + "\t";
  return text;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("bytes come out as they went in, whatever the container and the size of the reads" *
            doctest::test_suite("slow")) {
    const TempDir dir;
    for (const std::size_t size : {0, 1, 3, 1000, 3'000'000}) {
      const std::string bytes = sample(size).substr(0, size);
      CAPTURE(size);
      for (const std::size_t piece : {1000, 700'000}) {
        CHECK(read_everything({write_file(dir / "plain", bytes), ""}, piece) == bytes);
        CHECK(read_everything({write_file(dir / "a.gz", gzipped(bytes)), ""}, piece) == bytes);
        CHECK(read_everything({write_file(dir / "any-name", zstded(bytes)), ""}, piece) == bytes);
        for (const bool deflate : {false, true}) {
          const auto zip = write_zip(dir / "a.npz", {{"x.npy", "other"}, {"y.npy", bytes}}, deflate);
          CHECK(read_everything({zip, "y"}, piece) == bytes);
          CHECK(read_everything({zip, "x.npy"}, piece) == "other");
        }
      }
    }
    CHECK(npz_members(dir / "a.npz") == std::vector<std::string>{"x", "y"});
    CHECK(is_zip(dir / "a.npz"));
    CHECK_FALSE(is_zip(dir / "a.gz"));
    CHECK_FALSE(is_zip(dir / "absent"));
  }

  TEST_CASE("gzip members and zstd frames may follow one another") {
    const TempDir dir;
    CHECK(read_everything({write_file(dir / "a", gzipped("one ") + gzipped("two")), ""}) == "one two");
    CHECK(read_everything({write_file(dir / "b", zstded("one ") + zstded("two")), ""}) == "one two");
  }

  TEST_CASE("a compressed file cut at any byte is an error, never a shorter answer") {
    const TempDir dir;
    const std::string bytes = sample(300);
    const std::vector<std::pair<std::string, std::string>> files = {
        {"a.gz", gzipped(bytes)},
        {"a.zst", zstded(bytes)},
        {"stored.npz", read_all(write_zip(dir / "s", {{"x.npy", bytes}}, false))},
        {"deflated.npz", read_all(write_zip(dir / "d", {{"x.npy", bytes}}, true))}};
    for (const auto& [file_name, whole] : files) {
      const std::string name = file_name;  // clang cannot capture a structured binding
      const std::string member = name.ends_with("npz") ? "x" : "";
      CHECK(read_everything({write_file(dir / name, whole), member}) == bytes);
      for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(name);
        CAPTURE(length);
        const auto path = write_file(dir / name, whole.substr(0, length));
        const std::string message = message_of<DataError>([&] { read_everything({path, member}); });
        check_message(message, {path.string()});
      }
    }
  }

  TEST_CASE("a flipped bit in compressed data is an error or changes nothing") {
    const TempDir dir;
    const std::string bytes = sample(60);
    const std::vector<std::pair<std::string, std::string>> files = {
        {"a.gz", gzipped(bytes)}, {"stored.npz", read_all(write_zip(dir / "s", {{"x.npy", bytes}}, false))}};
    for (const auto& [file_name, whole] : files) {
      const std::string name = file_name;  // clang cannot capture a structured binding
      const std::string member = name.ends_with("npz") ? "x" : "";
      for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string bad = whole;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
        const InputFile file{write_file(dir / name, bad), member};
        CAPTURE(name);
        CAPTURE(bit);
        std::string read = bytes;
        const std::string message = message_of<DataError>([&] { read = read_everything(file); });
        if (message.empty()) CHECK(read == bytes);
      }
    }
  }

  TEST_CASE("missing files, folders, wrong names and wrong members are named") {
    const TempDir dir;
    check_message(message_of<DataError>([&] { ByteSource({dir / "absent", ""}); }), {"absent", "No such file"});
    check_message(message_of<DataError>([&] { ByteSource({dir.path(), ""}); }), {dir.path().string(), "no files"});
    check_message(message_of<DataError>([&] { ByteSource({write_file(dir / "x.gz", "1 2\n"), ""}); }), {"x.gz"});
    const auto zip = write_zip(dir / "a.npz", {{"x.npy", "1"}}, false);
    check_message(message_of<DataError>([&] { ByteSource({zip, "z"}); }), {"a.npz", "no member z", "x.npy"});
    check_message(message_of<DataError>([&] { (void)npz_members(write_file(dir / "t", "text")); }), {"zip archive"});
    check_message(message_of<DataError>([&] { (void)npz_members(dir / "absent"); }), {"absent", "No such file"});
    check_message(message_of<DataError>([&] {
                    read_everything({write_file(dir / "g", gzipped("ab") + "junk"), ""});
                  }),
                  {"corrupted gzip data"});
  }

  TEST_CASE("a pipe is read once, skipping works everywhere" * doctest::test_suite("slow")) {
    const TempDir dir;
    const std::string bytes = sample(2'500'000);
    const auto pipe = dir / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    for (const bool gzip : {false, true}) {
      std::thread writer([&] { write_file(pipe, gzip ? gzipped(bytes) : bytes); });
      ByteSource source({pipe, ""});
      CHECK_FALSE(source.reopenable());
      CHECK(source.peek(3).substr(0, 3) == bytes.substr(0, 3));
      source.skip(2'000'000);
      std::string rest(bytes.size(), '\0');
      rest.resize(source.read(rest));
      writer.join();
      CHECK(rest == bytes.substr(2'000'000));
    }
    for (const std::string name : {"plain", "a.gz", "a.zst"}) {
      write_file(dir / name, name == "plain" ? bytes : name == "a.gz" ? gzipped(bytes) : zstded(bytes));
      for (const std::size_t skipped : {std::size_t{0}, std::size_t{2}, std::size_t{2'000'000}, bytes.size() + 10}) {
        ByteSource source({dir / name, ""});
        CHECK(source.reopenable());
        source.skip(skipped);
        std::string rest(bytes.size(), '\0');
        rest.resize(source.read(rest));
        CHECK(rest == bytes.substr(std::min(skipped, bytes.size())));
      }
    }
  }
}
