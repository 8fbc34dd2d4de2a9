// tests/algorithms/maintenance/store_repair_test.cpp - a store with each of its files damaged in
// turn.
#include "algorithms/maintenance/store_repair.h"

#include <doctest/doctest.h>

#include <set>

#include "algorithms/live/digest.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "storage/formats/recorded_file.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/opened_store.h"
#include "support/store_fixture.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::read_all;
using testing::repair;
using testing::text_of;
using testing::TrainedStore;
using testing::write_file;

std::string repaired_digest(const fs::path& store) {
  const StoreReader live(store, ample_budget());
  return digest_text(content_digest(live));
}

std::string text_of(const std::vector<RepairedFile>& files) {
  std::string text;
  for (const RepairedFile& one : files) text += one.file + ": " + one.remedy + " (" + one.damage + ")\n";
  return text;
}

/// Another byte in the middle, an end that is missing, or no file at all.
void damage(const fs::path& file, int kind) {
  std::string bytes = read_all(file);
  if (kind == 0) bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  if (kind == 1) bytes.resize(bytes.size() - 1);
  if (kind == 2)
    fs::remove(file);
  else
    write_file(file, bytes);
}

/// A store after a checkpoint with runs, counts and changes, and a journal of one batch more, with
/// a model.
struct RepairWorld {
  TrainedStore trained;
  fs::path store = trained.store;
  std::string digest;

  RepairWorld() {
    trained.train("newton");
    trained.stream({{RequestKind::remove_node, 7, 0}, {RequestKind::remove_feature, 30, 0}}, {"newton"});
    StoreWriter(store, ample_budget()).checkpoint();
    trained.stream({{RequestKind::remove_node, 9, 0}}, {"newton"});
    trained.stream({trained.edge_of_training_node()}, {"newton"});
    digest = repaired_digest(store);
    CHECK(text_of(trained.verify()) == "");
  }
  [[nodiscard]] fs::path journal() const { return store / read_manifest(store).journal.value().path; }
};

TEST_SUITE("unit") {
  TEST_CASE("a whole store stays as it is, byte for byte") {
    const RepairWorld world;
    const auto before = testing::folder_bytes(world.store);
    CHECK(repair(world.store).empty());
    CHECK(testing::folder_bytes(world.store) == before);
  }

  TEST_CASE("state is rebuilt from graph and features, whichever file of it is damaged; the rest is lost and named") {
    const RepairWorld fresh;
    const Manifest manifest = read_manifest(fresh.store);
    Manifest contents = manifest;
    contents.levels.clear();
    std::set<std::string> kept;
    for (const FileEntry& entry : contents.files()) kept.insert(entry.path);
    std::size_t rebuilt = 0;
    int kind = 0;
    for (const FileEntry& entry : manifest.files()) {
      const testing::TempDir dir;
      const fs::path store = dir / "s", file = store / entry.path;
      fs::copy(fresh.store, store, fs::copy_options::recursive);
      damage(file, kind++ % 3);
      CAPTURE(entry.path);
      const auto report = repair(store);
      REQUIRE(report.size() == 1);
      CHECK(report[0].file == file.string());
      CHECK(report[0].lost == kept.contains(entry.path));
      if (report[0].lost) {
        CHECK(report[0].remedy.find("lost: restore the file from a copy") != std::string::npos);
        CHECK(repair(store)[0].lost);  // it stays so
        continue;
      }
      ++rebuilt;
      CHECK(report[0].remedy == "rebuilt");
      CHECK(repaired_digest(store) == fresh.digest);
      CHECK(text_of(verify_store(store, {{}, true, 1, {}}, ample_budget())) == "");
      CHECK(repair(store).empty());
    }
    CHECK(rebuilt >= 4);  // sums of two levels, counts, runs
  }

  TEST_CASE("sums that are wrong in a whole file are found, named and made anew") {
    const TrainedStore fresh;
    const Manifest manifest = read_manifest(fresh.store);
    const std::string digest = repaired_digest(fresh.store);
    for (const std::size_t level : {1U, 2U}) {
      const testing::TempDir dir;
      const fs::path store = dir / "s";
      fs::copy(fresh.store, store, fs::copy_options::recursive);
      const FileEntry wrong = testing::falsify_sum(store, static_cast<std::uint32_t>(level), 17);
      CHECK(
          text_of(verify_store(store, {0}, ample_budget())).find("level " + std::to_string(level) + ", partition 0") !=
          std::string::npos);
      const auto report = repair(store);
      // Where a quotient of level 1 differs by it, level 2 is not what that level would make of it:
      // both are named.
      REQUIRE(!report.empty());
      CHECK(report[0].file == (store / wrong.path).string());
      CHECK(report[0].damage.find("propagation: level " + std::to_string(level) + ", partition 0") == 0);
      CHECK(report[0].damage.find(" is not the sum of its terms") != std::string::npos);
      CHECK(report[0].remedy == "rebuilt");
      CHECK_FALSE(report[0].lost);
      CHECK(repaired_digest(store) == digest);
      CHECK(read_manifest(store).levels[level].partitions == manifest.levels[level].partitions);
      CHECK(repair(store).empty());
    }
  }

  TEST_CASE("state without the graph waits for the graph; what is whole is not touched") {
    const RepairWorld world;
    const Manifest manifest = read_manifest(world.store);
    const fs::path shard = world.store / manifest.shards[0].path,
                   sums = world.store / manifest.levels[1].partitions[0].path;
    const std::string good = read_all(shard);
    damage(shard, 0);
    damage(sums, 0);
    const auto before = testing::folder_bytes(world.store);
    const auto report = repair(world.store);
    CHECK(testing::folder_bytes(world.store) == before);
    REQUIRE(report.size() == 2);
    CHECK(report[0].lost);
    CHECK(text_of(report).find("lost until graph, features, labels and splits are whole") != std::string::npos);
    write_file(shard, good);
    CHECK(repair(world.store).size() == 1);
    CHECK(repaired_digest(world.store) == world.digest);
  }

  TEST_CASE("a folder in the place of a file of state has to be moved away first") {
    const RepairWorld world;
    const fs::path sums = world.store / read_manifest(world.store).levels[1].partitions[0].path;
    fs::remove(sums);
    fs::create_directory(sums);
    CHECK_THROWS_WITH_AS(
        repair(world.store),
        doctest::Contains((sums.string() + ": something else than a file lies there; move it away").c_str()),
        DataError);
    fs::remove(sums);
    CHECK(repair(world.store).size() == 1);
    CHECK(repaired_digest(world.store) == world.digest);
  }

  TEST_CASE("stale rows of a lazy stream are exact after a repair") {
    const TrainedStore world;
    world.stream({{RequestKind::remove_node, 7, 0}, world.edge_of_training_node()}, {}, 0.2);
    StoreWriter(world.store, ample_budget()).checkpoint();
    std::vector<fs::path> stale;
    for (const LevelFiles& files : read_manifest(world.store).levels)
      if (files.stale) stale.push_back(world.store / files.stale->path);
    REQUIRE_FALSE(stale.empty());
    damage(stale[0], 0);
    const auto report = repair(world.store);
    REQUIRE(report.size() == 1);
    CHECK(report[0].remedy == "rebuilt; rows that a lazy stream left stale are exact now");
    CHECK(text_of(verify_store(world.store, {{}, true, 1, {}}, ample_budget())) == "");
  }

  TEST_CASE("a damaged journal stays unless asked otherwise, and its requests are named") {
    const RepairWorld world;
    const fs::path journal = world.journal();
    const std::string good = read_all(journal);
    REQUIRE(good.size() == 40 + 2 * 80);
    for (const std::size_t at : {std::size_t{0}, std::size_t{20}, std::size_t{30},
                                 std::size_t{39}}) {  // in the header, which follows from name and manifest
      CAPTURE(at);
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      write_file(journal, bad);
      const auto report = repair(world.store);
      REQUIRE(report.size() == 1);
      CHECK(report[0].remedy == "rebuilt");
      CHECK_FALSE(report[0].lost);
      CHECK(read_all(journal) == good);
    }
    for (const std::size_t at : {std::size_t{70}, std::size_t{150}}) {
      CAPTURE(at);
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      write_file(journal, bad);
      const auto report = repair(world.store);
      REQUIRE(report.size() == 1);
      CHECK(report[0].lost);
      CHECK(report[0].damage == (at == 150 ? "byte 120: the last record is damaged" : "byte 40: a record is damaged"));
      CHECK(read_all(journal) == bad);
      CHECK(report[0].remedy.find(at == 150 ? "requests from 4 on" : "requests 3 to at least 4") != std::string::npos);
      const auto cut = repair(world.store, true);
      REQUIRE(cut.size() == (at == 70 ? 2 : 1));  // with the model, the first time
      CHECK_FALSE(cut[0].lost);
      CHECK(cut[0].remedy.find("cut off after request " + std::string(at == 150 ? "3" : "2")) != std::string::npos);
      CHECK(StoreReader(world.store, ample_budget()).sequence() == (at == 150 ? 3 : 2));
      CHECK(repair(world.store).empty());
      write_file(journal, good);
    }
    fs::remove(journal);
    CHECK(repair(world.store)[0].lost);
    CHECK_FALSE(repair(world.store, true)[0].lost);
    CHECK(StoreReader(world.store, ample_budget()).sequence() == 2);
    write_file(journal, good.substr(0, good.size() - 10));  // what a crash leaves
    CHECK(repair(world.store).empty());
  }

  TEST_CASE("a journal that ends before what a model has absorbed was cut, whatever a crash may leave") {
    for (const bool whole : {false, true}) {  // the whole last record is gone, or a part of it
      CAPTURE(whole);
      const RepairWorld world;
      const std::uint64_t sequence = StoreReader(world.store, ample_budget()).sequence();
      Manifest killed =
          read_manifest(world.store);  // as a killed writer leaves it: nothing is said of the last records
      killed.releases.clear();
      killed.journal = record_file(world.store, killed.journal->path, journal_bytes(0, 0));
      write_manifest(world.store, killed);
      const std::uint64_t bytes = fs::file_size(world.journal()), record = journal_bytes(1, 1) - journal_bytes(0, 0);
      fs::resize_file(world.journal(), whole ? bytes - record : bytes - 10);
      const std::string complaint =
          "it ends with request " + std::to_string(sequence - 1) + ", and the model of newton";
      const auto before = testing::folder_bytes(world.store);
      for (const Access access : {Access::read, Access::write})
        CHECK_THROWS_WITH_AS(testing::opened_store(world.store, access, ample_budget()),
                             doctest::Contains(complaint.c_str()), FormatError);
      CHECK(text_of(world.trained.verify()).find(complaint) != std::string::npos);
      const auto told = repair(world.store);
      CHECK(testing::folder_bytes(world.store) == before);
      REQUIRE(told.size() == 1);
      CHECK(told[0].lost);
      CHECK(told[0].remedy.find(option("cut-journal")) != std::string::npos);
      const auto cut = repair(world.store, true);
      REQUIRE(cut.size() == 2);
      CHECK_FALSE(cut[0].lost);
      CHECK_FALSE(fs::exists(world.store / "models/newton.model"));
      CHECK(StoreWriter(world.store, ample_budget()).sequence() == sequence - 1);
      CHECK(repair(world.store).empty());
    }
  }

  TEST_CASE("models that had absorbed requests that are given up are removed with them") {
    const TrainedStore world;
    world.train("newton");
    world.train("rewind");
    const Request one = world.edge_of_training_node();
    world.stream({one}, {"rewind"});
    const fs::path journal = world.store / read_manifest(world.store).journal->path;
    std::string bytes = read_all(journal);
    bytes[70] = static_cast<char>(bytes[70] ^ 1);
    write_file(journal, bytes);
    const auto report = repair(world.store, true);
    CHECK(text_of(report).find(world.model("rewind").string()) != std::string::npos);
    CHECK_FALSE(fs::exists(world.model("rewind")));
    CHECK_FALSE(fs::exists(world.store / "models" / "rewind"));
    CHECK(fs::exists(world.model("newton")));
    world.stream({{RequestKind::remove_node, 7, 0}}, {"newton"});  // takes the number again
    CHECK_THROWS_AS(world.stream({one}, {"rewind"}), UsageError);  // never trained
    world.train("rewind");
    CHECK(world.verify().ok());
  }

  TEST_CASE("a model of exact whose release file is damaged is trained again, to the bytes it had") {
    const TrainedStore world;
    const SolverOptions options = testing::unseeded();
    world.train("exact", options);
    world.stream({{RequestKind::remove_node, 7, 0}, world.edge_of_training_node()}, {"exact"});
    const fs::path model = world.model("exact"), release = release_file(world.store, "exact"),
                   shard = world.store / read_manifest(world.store).shards[0].path;
    const std::string bytes = read_all(model), whole = read_all(shard);
    for (const int kind : {0, 1}) {
      CAPTURE(kind);
      const std::string id = release_id(load_model(world.store, "exact"));
      damage(release, kind);
      damage(shard, 0);
      const auto waiting = repair(world.store);
      CHECK(text_of(waiting).find(release.string() + ": lost until graph, features, labels and splits are whole: the " +
                                  "model is trained again then") != std::string::npos);
      CHECK(fs::exists(release));
      write_file(shard, whole);
      const auto report = repair(world.store);
      REQUIRE(report.size() == 1);
      CHECK(report[0].file == release.string());
      CHECK(report[0].remedy == "the model was trained again and certified");
      CHECK_FALSE(report[0].lost);
      CHECK(read_all(model) == bytes);
      CHECK(release_id(load_model(world.store, "exact")) != id);
      CHECK(text_of(world.verify()) == "");
      CHECK(repair(world.store).empty());
    }
    fs::remove(release);  // as a repair leaves it that was cut
    REQUIRE(repair(world.store).size() == 1);
    CHECK_FALSE(load_model(world.store, "exact").certificate.empty());
    CHECK(repair(world.store).empty());
    fs::remove(world.store / "certificates" / "signing-key");
    damage(release, 0);
    const auto keyless = repair(world.store);
    REQUIRE(keyless.size() == 1);
    CHECK(keyless[0].remedy.find("the model has no certificate yet: ") == 0);
    CHECK(keyless[0].remedy.find(option("key", "FILE")) != std::string::npos);
    CHECK(read_all(model) == bytes);
    damage(model, 0);
    const auto lost = repair(world.store);
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].remedy == "lost, with the options that the model was trained with: train the model again; " +
                                world.log("exact").string() + " has them");
  }

  TEST_CASE("the newest certificate comes from the model; models and older certificates are lost") {
    const RepairWorld world;
    const fs::path log = world.trained.log("newton"), model = world.trained.model("newton");
    const std::string good = read_all(log), parts = read_all(private_log(world.store, "newton"));
    const std::size_t last = good.rfind('\n', good.size() - 2) + 1;
    for (const std::string& bad :
         {good.substr(0, last), good.substr(0, last + 50), good.substr(0, last) + "garbage\n"}) {
      write_file(log, bad);
      const auto report = repair(world.store);
      REQUIRE(report.size() == 1);
      CHECK(report[0].remedy == "the newest certificate was taken from the model file");
      CHECK_FALSE(report[0].lost);
      CHECK(read_all(log) == good);
    }
    fs::remove(private_log(world.store, "newton"));
    CHECK_FALSE(repair(world.store)[0].lost);
    CHECK(parts.ends_with(read_all(private_log(world.store, "newton"))));

    std::string bad = good;
    bad[100] = static_cast<char>(bad[100] ^ 1);
    write_file(log, bad);
    CHECK(repair(world.store)[0].lost);
    CHECK(read_all(log) == bad);
    fs::remove(log);
    const auto report = repair(world.store);
    REQUIRE(report.size() == 1);
    CHECK(report[0].lost);
    CHECK(!fs::exists(log));
    write_file(log, good);
    damage(model, 0);
    const auto lost = repair(world.store);
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].file == model.string());
    CHECK(lost[0].remedy == "lost, with the options that the model was trained with: train the model again; " +
                                log.string() + " has them");
  }
}

}  // namespace
}  // namespace unweave
