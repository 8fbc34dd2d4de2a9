// tests/storage/formats/request_log_test.cpp - what is read of a log that is whole, cut, damaged,
// purged.
#include "storage/formats/request_log.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "storage/formats/recorded_file.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

struct Log {
  testing::TempDir store;
  std::vector<std::uint64_t> ends;  ///< where its lines end

  Log() {
    RequestLog log(store.path(), 0);
    add(log, {1, 10, "edge", "applied", "T1"});
    add(log, {2, 10, "node", "empty-node", "4f6e"});
    log.sync();
    log_purge(store.path(), 11, {{"exact", 3}, {"mine", 1}});
    ends.push_back(size());
    RequestLog more(store.path(), size());
    add(more, {1, 12, "edge", "applied", "T3"});
    add(more, {2, 13, "edge", "applied", "T4"});
    more.sync();
  }
  void add(RequestLog& log, const LoggedRequest& request) {
    log.add({&request, 1});
    ends.push_back(log.bytes());
  }
  [[nodiscard]] std::filesystem::path file() const { return store / kRequestLog; }
  [[nodiscard]] std::uint64_t size() const { return std::filesystem::file_size(file()); }
  void put(const std::string& bytes) const { std::ofstream(file(), std::ios::binary) << bytes; }
  /// The ids that are read.
  [[nodiscard]] std::vector<std::string> ids(const FileEntry* recorded = nullptr) const {
    std::vector<std::string> ids;
    static_cast<void>(read_request_log(store.path(), recorded, [&](const LoggedRequest& request) {
      ids.emplace_back(request.kind == kPurgeLine ? request.status : request.id);
    }));
    return ids;
  }
};

using Strings = std::vector<std::string>;

/// The line of a purge.
std::string purge_line(Millis time) {
  const testing::TempDir store;
  RequestLog(store.path(), 0).sync();
  log_purge(store.path(), time, {});
  return testing::read_all(store / kRequestLog);
}

TEST_SUITE("unit") {
  TEST_CASE("lines come back as they were written; ids have a form") {
    const Log log;
    CHECK(log.ids() == Strings{"T1", "4f6e", "exact:3,mine:1", "T3", "T4"});
    CHECK(read_purged_logs("exact:3,mine:1") == PurgedLogs{{"exact", 3}, {"mine", 1}});
    CHECK(read_purged_logs("").empty());
    log_purge(log.store.path(), 20, {});
    log_purge(log.store.path(), 21, {});  // a purge that is finished twice
    CHECK(log.ids() == Strings{"T1", "4f6e", "exact:3,mine:1", "T3", "T4", ""});
    for (const char* text : {"a", "4f6e-11", "Ü", "id=7"}) CHECK(is_request_id(text));
    for (const char* text : {"", "a b", "a,b", "a\tb", "a\nb"}) CHECK_FALSE(is_request_id(text));
    for (const char* text : {"a\xFF",
                             "\xC2\x9B"
                             "2J",
                             "a\x7F",
                             "\xE2\x80\xAE"
                             "a",
                             "\xE2\x80\xA8", "\xEF\xBB\xBF", "\xED\xA0\x80", "\xC0\xAF"})
      CHECK_FALSE(is_request_id(text));
    CHECK(is_request_id(std::string(kMostIdBytes, 'x')));
    CHECK_FALSE(is_request_id(std::string(kMostIdBytes + 1, 'x')));
    const testing::TempDir empty;
    log_purge(empty.path(), 1, {});
    CHECK_FALSE(std::filesystem::exists(empty / kRequestLog));
  }

  TEST_CASE("marks come back with their key; a purge takes both away, and what names earlier requests") {
    const testing::TempDir store;
    const std::string key(kMarkKeyDigits, 'a'), mark(kMarkDigits, 'b');
    RequestLog log(store.path(), 0);
    log.add_key(key);
    for (const LoggedRequest& request : {LoggedRequest{1, 10, "node", "applied", "T1", mark},
                                         LoggedRequest{2, 10, "node", "empty-node", "T2", mark, 1},
                                         LoggedRequest{3, 11, "edge", "applied", "T3", kExpiredMark}})
      log.add({&request, 1});
    log.sync();
    const auto read = [&] {
      std::string all;
      static_cast<void>(read_request_log(
          store.path(), nullptr,
          [&](const LoggedRequest& request) {
            all.append(request.id).append(1, ':').append(request.mark).append(1, ':') +=
                std::to_string(request.earlier) + " ";
          },
          [&](std::string_view digits) { all.append(digits) += " "; }));
      return all;
    };
    const std::string before = key + " T1:" + mark + ":0 T2:" + mark + ":1 T3:expired:0 ";
    CHECK(read() == before);
    rewrite_request_log(store.path(), nullptr, [](const LoggedRequest&) { return true; });
    CHECK(mend_request_log(store.path()) == 0);
    CHECK(read() == before);
    const std::string bytes = testing::read_all(store / kRequestLog);
    for (const bool damaged : {false, true}) {
      std::string some = bytes;
      if (damaged) some[3] = 'x';  // in the key
      std::ofstream(store / kRequestLog, std::ios::binary) << some;
      if (damaged) log_purge(store.path(), 19, {});  // nothing was recorded: what follows the damage is not read
      std::ofstream(store / kRequestLog, std::ios::binary) << (damaged ? some + purge_line(20) : some);
      log_purge(store.path(), 21, {});
      const std::string purged = testing::read_all(store / kRequestLog);
      CHECK(purged.find(key) == std::string::npos);
      CHECK(purged.find(mark) == std::string::npos);
      if (damaged)
        CHECK_THROWS_AS(static_cast<void>(read()), RecordError);
      else
        CHECK(read() == "T1::0 T2::0 T3:expired:0 ::0 ");
    }
  }

  TEST_CASE("a log of an older program is read, whatever its ids and times are") {
    const testing::TempDir store;
    const Strings ids{"T\xFF",
                      "\xC2\x9B"
                      "2J",
                      "\xE2\x80\xAE"
                      "a",
                      "\x80\x80"};
    RequestLog log(store.path(), 0);
    std::uint64_t sequence = 0;
    for (const std::string& id : ids) {
      const LoggedRequest request{++sequence, sequence == 2 ? Millis{-62'135'596'800'000} : kLastMoment * 3, "edge",
                                  "applied", id};
      log.add({&request, 1});
    }
    log.sync();
    Strings read;
    CHECK(read_request_log(store.path(), nullptr,
                           [&](const LoggedRequest& request) { read.emplace_back(request.id); }) == log.bytes());
    CHECK(read == ids);
    CHECK(mend_request_log(store.path()) == 0);
  }

  TEST_CASE("what a crash leaves behind the recorded lines is not read; damage before is an error") {
    const Log log;
    const std::string bytes = testing::read_all(log.file());
    const FileEntry recorded = record_file(log.store.path(), kRequestLog, log.ends[3]);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      CAPTURE(at);
      std::string bad = bytes;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      log.put(bad);
      if (at < log.ends[3]) CHECK_THROWS_AS(log.ids(&recorded), RecordError);
      if (at + 1 < log.ends[1]) {  // a purge comes behind it
        CHECK_THROWS_AS(log.ids(), RecordError);
        continue;
      }
      Strings wanted{"T1", "4f6e", "exact:3,mine:1", "T3"};
      wanted.resize(at < log.ends[1] ? 1 : at < log.ends[2] ? 2 : at < log.ends[3] ? 3 : 4);
      CHECK(log.ids() == wanted);
    }
    for (std::size_t size = log.ends[3]; size < bytes.size(); ++size) {
      log.put(bytes.substr(0, size));
      CHECK(log.ids(&recorded) == Strings{"T1", "4f6e", "exact:3,mine:1", "T3"});
    }
    log.put(bytes.substr(0, log.ends[3] - 1));
    testing::check_message(testing::message_of<RecordError>([&] { static_cast<void>(log.ids(&recorded)); }),
                           {"certificates/requests", "damaged or cut short", "repair "});
    std::filesystem::remove(log.file());
    CHECK_THROWS_AS(log.ids(&recorded), RecordError);
    CHECK(log.ids().empty());
  }

  TEST_CASE("a log is written anew without some of its lines, and mended") {
    const Log log;
    rewrite_request_log(log.store.path(), nullptr, [](const LoggedRequest& request) { return request.time > 10; });
    CHECK(log.ids() == Strings{"exact:3,mine:1", "T3", "T4"});
    std::string bytes = testing::read_all(log.file());
    bytes[2] = 'x';
    log.put(bytes + "half a li");
    CHECK(mend_request_log(log.store.path()) == 2);
    CHECK(log.ids() == Strings{"T3", "T4"});
  }
}

}  // namespace
}  // namespace unweave
