// tests/storage/formats/journal_test.cpp - which endings of a journal are interrupted appends, and
// which are damage.
#include "storage/formats/journal.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/old_journal.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

const std::string kName = "after-00000000000000000005.log";
constexpr std::size_t kHeader = 40;
constexpr std::int64_t kTime = 1'790'000'000'123;

/// A record as FORMAT.md has it, of removals of node 1.
std::string record_of(std::uint64_t requests, std::uint64_t last) {
  std::vector<std::uint64_t> payload(2 + 3 * requests);
  for (std::size_t i = 0; i < requests; ++i) {
    payload[2 + 3 * i] = 1;
    payload[4 + 3 * i] = 2;
  }
  std::array<std::uint64_t, 3> header{8 * payload.size(), last, 0};
  const Checksum128 sum =
      checksum128(std::as_bytes(std::span(header).first(2)), std::as_bytes(std::span<const std::uint64_t>(payload)));
  std::memcpy(&header[2], sum.data(), 8);
  std::string record(reinterpret_cast<const char*>(header.data()), sizeof header);
  return record.append(reinterpret_cast<const char*>(payload.data()), 8 * payload.size());
}

struct Sample {
  testing::TempDir folder;
  FileEntry entry;  ///< before any record
  std::string bytes;
  std::size_t second = 0, third = 0;  ///< where these records begin

  Sample() {
    Journal journal = Journal::create(folder.path(), kName, 5);
    entry = journal.entry();
    journal.append({0, ThresholdScale::absolute, {{RequestKind::remove_node, 1, 0}}, kTime});
    second = journal.bytes();
    journal.append(
        {0.5, ThresholdScale::code, {{RequestKind::remove_edge, 2, 3}, {RequestKind::insert_edge, 2, 4}}, kTime});
    third = journal.bytes();
    journal.append({0, ThresholdScale::absolute, {}, kTime});
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
    return read_journal_parts(open_journal_file(folder.path(), entry), folder.path(), entry, 5,
                              [&](const JournalBatch&, const RecordPart& part) { batches += part.last ? 1 : 0; });
  }
};

TEST_SUITE("unit") {
  TEST_CASE("words that are no plain text are not taken, and read where an older program took them") {
    const testing::TempDir folder;
    Journal journal = Journal::create(folder.path(), kName, 5);
    const FileEntry entry = journal.entry();
    const auto batch = [](const std::string& id, const std::string& value) {
      return JournalBatch{0, ThresholdScale::absolute, {{RequestKind::set_label, 1, 0, id, value}}, kTime};
    };
    for (const char* id : {"\xFF", "\xC2\x9B", "\xE2\x80\xAE", "a b", "a,b", "a\n"})
      CHECK_THROWS_AS(journal.append(batch(id, "1")), UsageError);
    CHECK_THROWS_AS(journal.append(batch("a", "\xFF")), UsageError);
    const std::uint64_t record = journal.bytes();
    CHECK(record == kHeader);
    journal.append(batch("WORDS1", "VALUE"));
    const std::filesystem::path file = folder.path() / "journal" / kName;
    const std::string whole = testing::read_all(file);
    for (const std::string id : {"a\xFF\x80",
                                 "\xC2\x9B"
                                 "2J",
                                 "\xE2\x80\xAE"
                                 "b"}) {
      const std::string padded = id + std::string(6 - id.size(), '-');
      testing::write_file(file, testing::with_words(whole, record, "WORDS1", padded));
      std::string read;
      const JournalEnd end =
          read_journal(folder.path(), entry, 5, [&](const JournalBatch& found) { read += found.requests.at(0).id; });
      CHECK(read == padded);
      CHECK_FALSE(end.damaged);
      CHECK(Journal::open(folder.path(), entry, 5).sequence() == 6);
    }
    // A clock before 1970, of a program that did not mind.
    testing::write_file(
        file, testing::with_words(whole, record, std::to_string(kTime), "-" + std::to_string(kTime).substr(1)));
    std::int64_t time = 0;
    static_cast<void>(read_journal(folder.path(), entry, 5, [&](const JournalBatch& found) { time = found.time; }));
    CHECK(time == -790'000'000'123);
  }

  TEST_CASE("whole records come back as they were appended") {
    const Sample sample;
    std::size_t batches = 0;
    const JournalEnd end = sample.read(batches);
    CHECK(batches == 3);
    CHECK(end.bytes == sample.bytes.size());
    CHECK(end.tail == 0);
    CHECK_FALSE(end.damaged);
    require_whole_end(sample.folder.path(), sample.entry, end);
    CHECK_THROWS_AS(read_journal(sample.folder.path(), sample.entry, 6, [](const JournalBatch&) {}), FormatError);
  }

  TEST_CASE("time and words of a batch come back; each flipped bit of them is noticed") {
    const testing::TempDir folder;
    Journal journal = Journal::create(folder.path(), kName, 5);
    const FileEntry entry = journal.entry();
    const JournalBatch timed{0, ThresholdScale::absolute, {{RequestKind::remove_node, 1, 0}}, 1'790'000'000'123};
    JournalBatch named{0.5, ThresholdScale::code, {{RequestKind::remove_edge, 2, 3}, {RequestKind::remove_node, 4}}, 1};
    named.requests[0].id = "ticket-7";
    named.requests[1].value = "a value, with blanks";
    named.requests[0].v_by_name = named.requests[1].u_by_name = true;
    journal.append(timed);
    const std::size_t second = journal.bytes();
    journal.append(named);
    const std::size_t third = journal.bytes();
    journal.append({0, ThresholdScale::absolute, {}, 2});
    std::vector<JournalBatch> found;
    const auto read = [&] {
      found.clear();
      return read_journal(folder.path(), entry, 5, [&](const JournalBatch& batch) { found.push_back(batch); });
    };
    CHECK(read().bytes == journal.bytes());
    REQUIRE(found.size() == 3);
    CHECK(found[0] == timed);
    CHECK(found[1] == named);
    CHECK(found[2].time == 2);
    CHECK(Journal::open(folder.path(), entry, 5).sequence() == 8);
    const std::filesystem::path file = folder.path() / "journal" / kName;
    const std::string bytes = testing::read_all(file);
    for (std::size_t at = second; at < third; ++at) {
      std::string bad = bytes;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      std::ofstream(file, std::ios::binary) << bad;
      CHECK_THROWS_AS(read(), RecordError);
      const auto damage = find_journal_damage(folder.path(), entry, 5);
      REQUIRE(damage);
      CHECK(damage->bytes == second);
      CHECK(damage->later == 8);
    }
    named.requests[0].id = "two\nlines";
    Journal other = Journal::create(folder.path(), "other.log", 5);
    CHECK_THROWS_AS(other.append(named), UsageError);
    CHECK(other.sequence() == 5);
  }

  TEST_CASE(
      "a record that is larger than what is read at a time comes in parts; damage of any of it is damage of all") {
    const testing::TempDir folder;
    Journal journal = Journal::create(folder.path(), kName, 5);
    const FileEntry entry = journal.entry();
    std::vector<Request> many(10'000, {RequestKind::remove_node, 1, 0}), long_ones;
    for (std::size_t i = 0; i < many.size(); ++i) many[i].id = "T" + std::to_string(i);
    for (std::uint64_t i = 0; i < 5; ++i)
      long_ones.push_back({RequestKind::set_feature, i, 0, "", std::string(700'000, static_cast<char>('1' + i))});
    journal.append(0, ThresholdScale::absolute, many, kTime);
    const std::uint64_t second = journal.bytes();
    journal.append(0.5, ThresholdScale::code, long_ones, kTime + 1);
    std::vector<Request> found;
    std::vector<RecordPart> parts;
    std::size_t most = 0;
    const auto take = [&](const JournalBatch& batch, const RecordPart& part) {
      CHECK(batch.time == (part.sequence == 10'005 ? kTime : kTime + 1));
      CHECK(batch.r_max == (part.sequence == 10'005 ? 0 : 0.5));
      most = std::max(most, batch.requests.size());
      found.insert(found.end(), batch.requests.begin(), batch.requests.end());
      parts.push_back(part);
    };
    CHECK(read_journal_parts(open_journal_file(folder.path(), entry), folder.path(), entry, 5, take).bytes ==
          journal.bytes());
    many.insert(many.end(), long_ones.begin(), long_ones.end());
    CHECK(found == many);
    CHECK(most < 5000);
    CHECK(parts.size() == 6);  // 4,096 and 4,096 and the rest; two and two and one
    for (std::size_t i = 0; i < parts.size(); ++i) {
      CHECK(parts[i].requests == (i < 3 ? 10'000 : 5));
      CHECK(parts[i].end == (i < 3 ? second : journal.bytes()));
      CHECK(parts[i].last == (i % 3 == 2));
    }
    CHECK(Journal::open(folder.path(), entry, 5).sequence() == 10'010);

    const std::filesystem::path file = folder.path() / "journal" / kName;
    const std::string bytes = testing::read_all(file);
    for (const std::size_t at : {second + 30, second + 2'000'000, bytes.size() - 9}) {
      CAPTURE(at);
      std::string bad = bytes;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      std::ofstream(file, std::ios::binary) << bad;
      found.clear();
      const JournalEnd end = read_journal_parts(open_journal_file(folder.path(), entry), folder.path(), entry, 5, take);
      CHECK(found.size() == 10'000);  // nothing of a damaged one
      CHECK(end.damaged);
      const auto damage = find_journal_damage(folder.path(), entry, 5);
      REQUIRE(damage);
      CHECK(damage->bytes == second);
      CHECK(damage->last == 10'005);
    }
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
      CHECK(Journal::open(sample.folder.path(), sample.entry, 5).bytes() == sample.second);
      CHECK(std::filesystem::file_size(sample.file()) == sample.second);
    }
  }

  TEST_CASE("of a record that was never acknowledged any sectors may be missing") {
    const testing::TempDir folder;
    Journal journal = Journal::create(folder.path(), kName, 5);
    const FileEntry entry = journal.entry();
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
      const JournalEnd end = read_journal(folder.path(), entry, 5, [&](const JournalBatch&) { ++batches; });
      CHECK(batches == 1);
      CHECK(end.bytes == first);
      CHECK(end.tail == whole.size() - first);
      CHECK_FALSE(end.damaged);
      CHECK(Journal::open(folder.path(), entry, 5).sequence() == 44);
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
      if (at < kHeader)
        CHECK_THROWS_AS(sample.read(batches), FormatError);
      else
        CHECK_THROWS_AS(sample.read(batches), RecordError);
    }
    std::string zeroed = sample.bytes;
    zeroed.replace(sample.second, 24, 24, '\0');
    sample.put(zeroed);
    testing::check_message(
        testing::message_of<RecordError>([&] { sample.read(batches); }),
        {sample.file().string() + ": byte " + std::to_string(sample.second) + ": a record is damaged",
         "`repair " + sample.folder.path().string() + " cut-journal`"});
    const auto damage = find_journal_damage(sample.folder.path(), sample.entry, 5);
    REQUIRE(damage);
    CHECK(damage->text == "byte " + std::to_string(sample.second) + ": a record is damaged");
    CHECK(damage->later == 8);
  }

  TEST_CASE("damage early in a journal of very many batches: each record after it is looked at once") {
    const Sample sample;
    constexpr std::size_t kSmall = 100'000, kLarge = 200'000;  // the large one takes more than is read at a time
    std::string bytes = sample.bytes.substr(0, kHeader);
    std::uint64_t last = 5;
    for (std::size_t i = 0; i < kSmall; ++i) bytes += record_of(1, ++last);
    bytes += record_of(kLarge, last += kLarge);
    bytes += record_of(0, last);
    for (std::size_t i = 0; i < kSmall; ++i) bytes += record_of(1, ++last);
    sample.put(bytes);
    std::size_t batches = 0;
    CHECK(sample.read(batches).bytes == bytes.size());
    CHECK(batches == 2 * kSmall + 2);
    bytes[kHeader + 64 + 30] = 'x';
    sample.put(bytes + std::string(100, 'x'));
    const auto damage = find_journal_damage(sample.folder.path(), sample.entry, 5);
    REQUIRE(damage);
    CHECK(damage->bytes == kHeader + 64);
    CHECK(damage->last == 6);
    CHECK(damage->later == last);
  }

  TEST_CASE("a damaged last record of full length is told apart") {
    const Sample sample;
    std::size_t batches = 0;
    for (std::size_t at = sample.third + 16; at < sample.bytes.size(); ++at) {
      std::string bad = sample.bytes;
      bad[at] = static_cast<char>(bad[at] ^ 4);
      sample.put(bad);
      const JournalEnd end = sample.read(batches);
      CHECK(end.damaged);
      CHECK(batches == 2);
      testing::check_message(
          testing::message_of<RecordError>([&] { require_whole_end(sample.folder.path(), sample.entry, end); }),
          {"the last record is damaged", " cut-journal`"});
    }
  }
}

}  // namespace
}  // namespace unweave
