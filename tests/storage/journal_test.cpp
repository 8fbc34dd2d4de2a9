// tests/storage/journal_test.cpp - which endings of a journal are interrupted appends, and which are damage.
#include "storage/journal.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "storage/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

const std::string kName = "after-00000000000000000005.log";
/// Of which nothing was recorded.
const FileEntry kEntry{"journal/" + kName, 0, {}};

struct Sample {
  testing::TempDir folder;
  std::string bytes;
  std::size_t second = 0, third = 0;  ///< where these records begin

  Sample() {
    Journal journal = Journal::create(folder.path(), kName, 5);
    journal.append({0, ThresholdScale::absolute, {{RequestKind::remove_node, 1, 0}}});
    second = journal.bytes();
    journal.append({0.5, ThresholdScale::code, {{RequestKind::remove_edge, 2, 3}, {RequestKind::insert_edge, 2, 4}}});
    third = journal.bytes();
    journal.append({0, ThresholdScale::absolute, {}});
    CHECK(journal.sequence() == 8);
    bytes = testing::read_all(file());
    CHECK(bytes.size() == journal.bytes());
    CHECK(bytes.size() == journal_bytes(3, 3));
  }
  [[nodiscard]] std::filesystem::path file() const { return folder.path() / "journal" / kName; }
  void put(const std::string& changed) const { std::ofstream(file(), std::ios::binary) << changed; }
  /// Reads the journal; `batches` counts whole records.
  JournalEnd read(std::size_t& batches) const {
    batches = 0;
    return read_journal(folder.path(), kEntry, 5, [&](const JournalBatch&) { ++batches; });
  }
};

TEST_SUITE("unit") {
  TEST_CASE("whole records come back as they were appended") {
    const Sample sample;
    std::size_t batches = 0;
    const JournalEnd end = sample.read(batches);
    CHECK(batches == 3);
    CHECK(end.bytes == sample.bytes.size());
    CHECK(end.tail == 0);
    CHECK_FALSE(end.damaged);
    CHECK_THROWS_AS(read_journal(sample.folder.path(), kEntry, 6, [](const JournalBatch&) {}), FormatError);
  }

  TEST_CASE("a last record that is cut short or unwritten was never acknowledged, and the next writer cuts it off") {
    const Sample sample;
    std::size_t batches = 0;
    for (const std::string& tail :
         {sample.bytes.substr(sample.second, 30), std::string(7, 'x'), std::string(200, '\0')}) {
      sample.put(sample.bytes.substr(0, sample.second) + tail);
      const JournalEnd end = sample.read(batches);
      CHECK(batches == 1);
      CHECK(end.bytes == sample.second);
      CHECK(end.tail == tail.size());
      CHECK_FALSE(end.damaged);
      CHECK(Journal::open(sample.folder.path(), kEntry, 5).bytes() == sample.second);
      CHECK(std::filesystem::file_size(sample.file()) == sample.second);
    }
  }

  TEST_CASE("of a record that was never acknowledged any sectors may be missing") {
    const testing::TempDir folder;
    Journal journal = Journal::create(folder.path(), kName, 5);
    journal.append({0, ThresholdScale::absolute, std::vector<Request>(39, {RequestKind::remove_edge, 1, 2})});
    const std::size_t first = journal.bytes();
    journal.append({0, ThresholdScale::absolute, std::vector<Request>(60, {RequestKind::remove_edge, 3, 4})});
    const std::filesystem::path file = folder.path() / "journal" / kName;
    const std::string whole = testing::read_all(file);
    // The second record lies in sectors 1 to 4, and its header in two of them.
    REQUIRE(first / 512 != (first + 23) / 512);
    for (unsigned missing = 1; missing < 16; ++missing) {
      CAPTURE(missing);
      std::string bytes = whole;
      for (std::size_t at = first; at < bytes.size(); ++at)
        if ((missing >> (at / 512 - 1) & 1U) != 0) bytes[at] = '\0';
      std::ofstream(file, std::ios::binary) << bytes;
      std::size_t batches = 0;
      const JournalEnd end = read_journal(folder.path(), kEntry, 5, [&](const JournalBatch&) { ++batches; });
      CHECK(batches == 1);
      CHECK(end.bytes == first);
      CHECK(end.tail == whole.size() - first);
      CHECK_FALSE(end.damaged);
      CHECK(Journal::open(folder.path(), kEntry, 5).sequence() == 44);
      CHECK(std::filesystem::file_size(file) == first);
    }
  }

  TEST_CASE("any damage before the last record is an error, since acknowledged requests follow") {
    const Sample sample;
    std::size_t batches = 0;
    for (std::size_t at = 0; at < sample.third; ++at) {
      CAPTURE(at);
      std::string bad = sample.bytes;
      bad[at] = static_cast<char>(bad[at] ^ 4);
      sample.put(bad);
      CHECK_THROWS_AS(sample.read(batches), FormatError);
    }
    std::string zeroed = sample.bytes;
    zeroed.replace(sample.second, 24, 24, '\0');
    sample.put(zeroed);
    CHECK_THROWS_AS(sample.read(batches), FormatError);
  }

  TEST_CASE("a damaged last record of full length is told apart") {
    const Sample sample;
    std::size_t batches = 0;
    for (std::size_t at = sample.third + 16; at < sample.bytes.size(); ++at) {
      std::string bad = sample.bytes;
      bad[at] = static_cast<char>(bad[at] ^ 4);
      sample.put(bad);
      CHECK(sample.read(batches).damaged);
      CHECK(batches == 2);
    }
  }
}

}  // namespace
}  // namespace unweave
