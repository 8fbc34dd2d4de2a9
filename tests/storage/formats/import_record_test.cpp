// tests/storage/formats/import_record_test.cpp - the record of an unfinished import comes back as it was, or is
// refused.
#include "storage/formats/import_record.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/store_folders.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

ImportRecord full_record() {
  const FileEntry file{"graph/0000000000-0123456789abcdef.shard", 4096, "0123456789abcdef0123456789abcdef"};
  ImportRecord record;
  record.options = {{"edges", "/a \"b\"\n/e.txt of 7 bytes"}, {"order", "bfs"}};
  record.names = KeptNames{{file, file}, 7, 6};
  KeptArcs arcs;
  arcs.place = {11, 12, 13, 14};
  arcs.whole = true;
  arcs.edges_read = 21;
  arcs.self_loops = 22;
  arcs.upward = 23;
  arcs.smallest_node = 0;
  arcs.largest_node = kMaxNodeId;
  arcs.bytes = std::uint64_t{1} << 40;
  arcs.chunks = {file, file};
  record.given = {arcs, {{file, 31, 32}}, false, 0, {}};
  record.ordered = {std::nullopt, {{file, 1, 2}, {file, 3, 4}}, true, 41, arcs};
  record.order = file;
  record.seconds_order = 0.1;
  record.statistics = KeptStatistics{{0.1, -1e-300}, {1, 3.0000000000000004}, 1.0 / 3, 1, 17};
  record.rows = {91, 1, 2, 1.25, 2.125, 96, 97, {file}};
  record.features = {{file, 1, 2, 1.5, 2.5}};
  return record;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a record of everything, and one of nothing, come back bit for bit") {
    const testing::TempDir dir;
    CHECK_FALSE(read_import_record(dir.path()));
    std::filesystem::create_directory(dir / kImportFolder);
    for (const ImportRecord& record : {full_record(), ImportRecord()}) {
      write_import_record(dir.path(), record);
      const auto read = read_import_record(dir.path());
      REQUIRE(read);
      CHECK(*read == record);
    }
  }

  TEST_CASE("a record with another byte, cut short, or of another version is refused") {
    const std::string text = import_record_text(full_record());
    CHECK(parse_import_record(text, "record") == full_record());
    for (std::size_t at = 0; at < text.size(); at += 7) {
      CAPTURE(at);
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      try {
        // Blanks between members are under no checksum.
        CHECK(parse_import_record(damaged, "record") == full_record());
      } catch (const FormatError&) {
      }
    }
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 2})
      CHECK_THROWS_AS((void)parse_import_record(text.substr(0, length), "record"), FormatError);
    std::string other = text;
    other.replace(other.find("\"version\": 2"), 12, "\"version\": 9");
    testing::check_message(testing::message_of<FormatError>([&] { (void)parse_import_record(other, "record"); }),
                           {"record", "version"});
  }

  TEST_CASE("a record whose checksum is right is refused where a number of it is none, and nothing is freed twice") {
    const auto text = nlohmann::ordered_json::parse(import_record_text(full_record()));
    const auto with = [&](const char* pointer, const nlohmann::ordered_json& value) {
      nlohmann::ordered_json json = text;
      json["contents"][nlohmann::ordered_json::json_pointer(pointer)] = value;
      const std::string contents = json["contents"].dump();
      json["checksum"] = to_hex(checksum128(std::as_bytes(std::span(contents)), {}));
      return json.dump();
    };
    CHECK(parse_import_record(with("/names/2", 8), "record").names->nodes == 8);
    for (const char* const number : {"/names/2", "/names/3", "/given/arcs/whole", "/rows/above", "/features/0/1"}) {
      CAPTURE(number);
      CHECK_THROWS_AS((void)parse_import_record(with(number, "x"), "record"), FormatError);
    }
  }

  TEST_CASE("a record that names a file outside the store is refused") {
    for (const std::string path : {"../x", "/etc/passwd", "graph/../../x", ""}) {
      CAPTURE(path);
      ImportRecord record = full_record();
      record.order->path = path;
      CHECK_THROWS_AS((void)parse_import_record(import_record_text(record), "record"), FormatError);
    }
  }
}

}  // namespace unweave
