// tests/engine/ingest/import_resume_test.cpp - an import that is ended at any moment goes on, and makes the same store.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/ingest/store_import.h"
#include "storage/formats/import_record.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

constexpr NodeId kResumeNodes = 140'000;  // three spans
constexpr std::size_t kResumeEdges = 300'000;
constexpr std::size_t kResumeColumns = 5;

/// Ends the work once so many units are done; may be slow.
class Ending : public WorkMeter {
 public:
  explicit Ending(std::uint64_t most, std::chrono::microseconds pause = {})
      : left_(static_cast<std::int64_t>(most)), pause_(pause) {}
  [[nodiscard]] std::uint64_t done() const noexcept { return done_; }

 private:
  void start(std::string_view step, std::uint64_t /*total*/, std::string_view /*unit*/) override {
    is_edges_ = step == "edges";
  }
  void add(std::uint64_t count) noexcept override {
    left_ -= static_cast<std::int64_t>(count);
    if (is_edges_) done_ += count;
    if (pause_.count() > 0) std::this_thread::sleep_for(pause_);
  }
  [[nodiscard]] bool cancelled() noexcept override { return left_ < 0; }
  std::atomic<std::int64_t> left_;
  std::atomic<std::uint64_t> done_ = 0;  // edges
  std::atomic<bool> is_edges_ = false;
  std::chrono::microseconds pause_;
};

/// Input files of one graph in all formats.
struct Inputs {
  struct Written {};
  /// Those that are there already.
  Inputs(fs::path folder, Written /*there*/) : folder_(std::move(folder)) {}
  explicit Inputs(const fs::path& folder) : folder_(folder) {
    std::mt19937 random(5);
    for (std::size_t i = 0; i < kResumeEdges; ++i) {
      const auto u = static_cast<NodeId>(random() % 3 == 0 ? random() % 64 : random() % kResumeNodes);
      edges.push_back({u, static_cast<NodeId>(random() % kResumeNodes)});
    }
    std::string text = "source target\n", weighted, mtx, names, named;
    std::vector<std::int64_t> pairs, rows;
    for (const Edge& edge : edges) {
      text += std::to_string(edge.u) + "\t" + std::to_string(edge.v) + "\n";
      weighted += std::to_string(edge.u) + " " + std::to_string(edge.v) + " " +
                  std::to_string(1 + (edge.u + edge.v) % 3) + "\n";
      mtx += std::to_string(edge.u + 1) + " " + std::to_string(edge.v + 1) + "\n";
      named += "n" + std::to_string(edge.u) + " n" + std::to_string(edge.v) + "\n";
      pairs.push_back(edge.u);
      pairs.push_back(edge.v);
      rows.push_back(edge.u);
    }
    for (const Edge& edge : edges) rows.push_back(edge.v);
    for (NodeId node = 0; node < kResumeNodes; ++node) names += "n" + std::to_string(node) + "\n";
    const std::string count = std::to_string(edges.size());
    write("e.txt", text);
    write("e.txt.gz", testing::gzipped(text));
    write("w.txt", weighted);
    write("e.mtx", "%%MatrixMarket matrix coordinate pattern general\n" + std::to_string(kResumeNodes) + " " +
                       std::to_string(kResumeNodes) + " " + count + "\n" + mtx);
    write("pairs.npy", testing::npy("<i8", "(" + count + ", 2)", pairs));
    write("rows.npy", testing::npy("<i8", "(2, " + count + ")", rows));
    write("names.txt", names);
    write("named.txt", named);
    std::vector<float> values(std::size_t{kResumeNodes} * kResumeColumns);
    for (float& value : values) value = random() % 3 == 0 ? static_cast<float>(random() % 1000) / 700 : 0;
    write("x.npy", testing::npy("<f4", "(" + std::to_string(kResumeNodes) + ", " + std::to_string(kResumeColumns) + ")",
                                values));
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<float> stored;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0) {
        indices.push_back(static_cast<std::int32_t>(i % kResumeColumns));
        stored.push_back(values[i]);
      }
      if ((i + 1) % kResumeColumns == 0) indptr.push_back(static_cast<std::int64_t>(stored.size()));
    }
    const std::string entries = "(" + std::to_string(stored.size()) + ",)";
    write("p.npy", testing::npy("<i8", "(" + std::to_string(indptr.size()) + ",)", indptr));
    write("i.npy", testing::npy("<i4", entries, indices));
    write("v.npy", testing::npy("<f4", entries, stored));
    std::string labels;
    for (NodeId node = 0; node < kResumeNodes; ++node) labels += std::to_string(node % 7) + "\n";
    write("y.txt", "# labels\n" + labels);
    write("train.txt", "5\n9\n100000\n");
  }

  [[nodiscard]] InputFile file(const std::string& name) const { return {folder_ / name, {}}; }

  /// Some way to import them, by number.
  static constexpr int kWays = 9;
  [[nodiscard]] ImportOptions way(int number) const {
    ImportOptions options;
    options.keep_seconds = 0;
    options.edges = file("e.txt");
    options.features = file("x.npy");
    const CsrInput csr{{file("p.npy"), file("i.npy"), file("v.npy")}, kResumeColumns};
    switch (number) {
      case 0:
        break;
      case 1:
        options.order = "bfs";
        options.feature_type = FeatureType::f16;
        break;
      case 2:
        options.edges = file("e.txt.gz");
        options.features = csr;
        break;
      case 3:
        options.edges = file("w.txt");
        options.max_weight = 3;
        options.order = "bfs";
        options.features = csr;
        break;
      case 4:
        options.edges = file("e.mtx");
        options.standardize = true;
        break;
      case 5:
        options.edges = file("pairs.npy");
        options.standardize = true;
        options.order = "degree";
        break;
      case 6:
        options.edges = file("rows.npy");
        options.features.reset();
        options.labels = file("y.txt");
        options.train = file("train.txt");
        break;
      case 7:
        options.edges = file("named.txt");
        options.ids = file("names.txt");
        options.features = csr;
        options.feature_type = FeatureType::f16;
        break;
      default:
        options.edges = file("w.txt");
        options.ignore_weights = true;
        options.features.reset();
        break;
    }
    return options;
  }

  std::vector<Edge> edges;

 private:
  void write(const char* name, const std::string& bytes) const { testing::write_file(folder_ / name, bytes); }
  fs::path folder_;
};

ImportReport run_import(const fs::path& store, const ImportOptions& options, WorkMeter& meter,
                        std::uint64_t memory = std::uint64_t{24} << 20) {
  MemoryBudget budget(memory);
  return import_store(store, options, budget, meter);
}

ImportReport run_whole(const fs::path& store, const ImportOptions& options) {
  WorkMeter nobody;
  return run_import(store, options, nobody);
}

void check_same_report(const ImportReport& one, const ImportReport& other) {
  CHECK(one.edges_read == other.edges_read);
  CHECK(one.self_loops == other.self_loops);
  CHECK(one.duplicates == other.duplicates);
  CHECK(one.one_way_edges == other.one_way_edges);
  CHECK(one.edges == other.edges);
  CHECK(one.weight_sum == other.weight_sum);
  CHECK(one.left_out == other.left_out);
  CHECK(one.rows_scaled == other.rows_scaled);
  CHECK(one.largest_norm == other.largest_norm);
  CHECK(one.bits_per_arc == other.bits_per_arc);
  CHECK(one.named == other.named);
}

/// Runs one case of this file in a process of its own, which gets two words. Returns its process.
pid_t start_child(const std::string& name, const fs::path& inputs, const fs::path& store, int way,
                  std::optional<rlim_t> most_file_bytes = {}) {
  const pid_t child = fork();
  if (child != 0) return child;
  ::setenv("UNWEAVE_TEST_INPUTS", inputs.c_str(), 1);
  ::setenv("UNWEAVE_TEST_STORE", store.c_str(), 1);
  ::setenv("UNWEAVE_TEST_WAY", std::to_string(way).c_str(), 1);
  const std::string filter = "--test-case=" + name;
  if (most_file_bytes) {  // a write beyond it fails as on a full disk
    const struct rlimit limit { *most_file_bytes, *most_file_bytes };
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
  }
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::execl("/proc/self/exe", "test_engine", filter.c_str(), "--no-skip", "--no-version", "--minimal", nullptr);
  ::_exit(127);
}

/// An import that was ended after it had read some edges and kept them.
void end_import(const fs::path& store, const ImportOptions& options, std::uint64_t most) {
  Ending some(most, std::chrono::milliseconds(5));
  CHECK_THROWS_AS(run_import(store, options, some), Cancelled);
  REQUIRE(fs::exists(store / "import" / "record.json"));
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("an import that is cancelled again and again makes the store of one that never was") {
    const TempDir dir;
    const Inputs inputs(dir.path());
    std::mt19937 random(3);
    std::uint64_t ends = 0, orders = 0, rows = 0, statistics = 0, names = 0;  // what was kept at the end of some call
    std::uint64_t went_on = 0, kept_edges = 0, kept_shards = 0, kept_features = 0;
    for (int way = 0; way < Inputs::kWays; ++way) {
      CAPTURE(way);
      const ImportOptions options = inputs.way(way);
      Ending all(std::uint64_t{1} << 60);
      const ImportReport whole = run_import(dir / "whole", options, all);
      const auto expected = testing::folder_bytes(dir / "whole");
      CHECK_FALSE(whole.resumed);
      for (const auto& [name, bytes] : expected) CHECK_FALSE(name.starts_with("import"));
      for (int trial = 0; trial < 5; ++trial) {
        const fs::path store = dir / "s";
        std::optional<ImportReport> report;
        // Each call does a part of the work; under another budget chunks and ranges are others.
        for (int call = 0; !report && call < 60; ++call) {
          Ending some(random() % (kResumeEdges + kResumeNodes * 3), std::chrono::microseconds(300));
          try {
            report = run_import(store, options, some, std::uint64_t{call % 2 == 0 ? 24U : 40U} << 20);
          } catch (const Cancelled&) {
            CHECK_FALSE(fs::exists(store / "manifest.json"));
            const auto record = read_import_record(store);
            if (!record) continue;
            ends += record->ordered.arcs && !record->ordered.arcs->whole ? 1 : 0;
            orders += record->order ? 1 : 0;
            rows += record->rows ? 1 : 0;
            statistics += record->statistics ? 1 : 0;
            names += record->names ? 1 : 0;
          }
        }
        if (!report) report = run_whole(store, options);
        check_same_report(*report, whole);
        if (report->resumed) {
          ++went_on;
          kept_edges += report->resumed->edges;
          kept_shards += report->resumed->shards;
          kept_features += report->resumed->feature_files;
        }
        const auto made = testing::folder_bytes(store);
        CHECK(made == expected);
        fs::remove_all(store);
      }
      fs::remove_all(dir / "whole");
    }
    CHECK(went_on > 20);
    CHECK(kept_edges > kResumeEdges);
    CHECK(kept_shards > 5);
    CHECK(kept_features > 2);
    for (const std::uint64_t kept : {ends, orders, rows, statistics, names}) CHECK(kept > 0);
  }

  TEST_CASE("a tenth of the edges is read again at most") {
    const TempDir dir;
    constexpr std::size_t kMany = 4'000'000;
    std::mt19937 random(2);
    std::vector<std::uint16_t> ends(2 * kMany);
    for (std::uint16_t& end : ends) end = static_cast<std::uint16_t>(random() % 60'000);
    ImportOptions options;
    options.keep_seconds = 0;
    options.edges = InputFile{testing::write_file(dir / "e.npy", testing::npy("<u2", "(4000000, 2)", ends)), {}};
    // A meter that waits makes the work long beside the saves, as it is where these are due.
    for (const std::uint64_t most : {3'000'000U, 3'900'000U}) {
      Ending some(most, std::chrono::milliseconds(5));
      CHECK_THROWS_AS(run_import(dir / "s", options, some), Cancelled);
      const ImportReport report = run_whole(dir / "s", options);
      REQUIRE(report.resumed);
      MESSAGE("read before " << some.done() << ", of which " << report.resumed->edges << " were kept");
      CHECK(report.resumed->edges + some.done() / 10 >= some.done());
      fs::remove_all(dir / "s");
    }
  }

  TEST_CASE("child: an import that somebody kills" * doctest::skip()) {
    const char* const store = std::getenv("UNWEAVE_TEST_STORE");
    const char* const folder = std::getenv("UNWEAVE_TEST_INPUTS");
    const char* const way = std::getenv("UNWEAVE_TEST_WAY");
    if (store == nullptr || folder == nullptr || way == nullptr) return;
    ::signal(SIGTERM, SIG_DFL);  // doctest's handler allocates, and never ends where the signal came amid an allocation
    const ImportOptions options = Inputs(folder, Inputs::Written()).way(std::atoi(way));
    WorkMeter nobody;
    run_import(store, options, nobody);
  }

  TEST_CASE("where no more can be written the import goes on or ends, and another process goes on") {
    const TempDir dir;
    const Inputs inputs(dir.path());
    int failed = 0, went_on = 0;
    for (const int way : {0, 1, 3}) {
      CAPTURE(way);
      const ImportOptions options = inputs.way(way);
      const ImportReport whole = run_whole(dir / "whole", options);
      const auto expected = testing::folder_bytes(dir / "whole");
      for (const rlim_t limit : {20'000U, 300'000U, 700'000U, 1'000'000U, 2'000'000U, 4'000'000U}) {
        CAPTURE(limit);
        const fs::path store = dir / "s";
        const pid_t child = start_child("child: an import that somebody kills", dir.path(), store, way, limit);
        REQUIRE(child > 0);
        int status = 0;
        ::waitpid(child, &status, 0);
        REQUIRE(WIFEXITED(status));
        if (WEXITSTATUS(status) != 0) {
          ++failed;
          const ImportReport report = run_whole(store, options);
          check_same_report(report, whole);
          if (report.resumed) ++went_on;
        }
        CHECK(testing::folder_bytes(store) == expected);
        fs::remove_all(store);
      }
      fs::remove_all(dir / "whole");
    }
    CHECK(failed > 3);
    CHECK(went_on > 0);
  }

  TEST_CASE("kill -9 and SIGTERM at any moment of an import; another process goes on") {
    const TempDir dir;
    const Inputs inputs(dir.path());
    std::mt19937 random(8);
    int kills = 0, went_on = 0;
    for (const int way : {0, 1, 3, 4, 5, 7}) {
      CAPTURE(way);
      const ImportOptions options = inputs.way(way);
      const auto start = std::chrono::steady_clock::now();
      const ImportReport whole = run_whole(dir / "whole", options);
      const auto micros =
          std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
      const auto expected = testing::folder_bytes(dir / "whole");
      for (int trial = 0; trial < 5; ++trial) {
        const fs::path store = dir / "s";
        for (int call = 0; call < 3; ++call) {
          const pid_t child = start_child("child: an import that somebody kills", dir.path(), store, way);
          REQUIRE(child > 0);
          ::usleep(static_cast<useconds_t>(random() % static_cast<std::uint64_t>(3 * micros / 2)));
          ::kill(child, call % 2 == 0 ? SIGKILL : SIGTERM);
          int status = 0;
          ::waitpid(child, &status, 0);
          if (WIFSIGNALED(status)) ++kills;
          if (fs::exists(store / "manifest.json")) break;
        }
        if (!fs::exists(store / "manifest.json")) {
          const ImportReport report = run_whole(store, options);
          check_same_report(report, whole);
          if (report.resumed) ++went_on;
        }
        auto made = testing::folder_bytes(store);
        // Where the kill came between the manifest and the end, the next writer removes these.
        std::erase_if(made, [](const auto& item) {
          return item.first == "unfinished" || item.first.starts_with("import/") ||
                 item.first.starts_with("graph/by-ids/");
        });
        CHECK(made == expected);
        fs::remove_all(store);
      }
      fs::remove_all(dir / "whole");
    }
    CHECK(kills > 10);
    CHECK(went_on > 1);  // how many of the calls come so far depends on how busy the machine is
  }
}

TEST_SUITE("unit") {
  TEST_CASE("other options or files than those of the import that was ended are one error, and restart drops it") {
    const TempDir dir;
    const Inputs inputs(dir.path());
    ImportOptions options = inputs.way(0);
    options.features.reset();
    end_import(dir / "s", options, 100'000);
    ImportOptions other = options;
    other.order = "bfs";
    const auto refused = [&](const ImportOptions& now) {
      return testing::message_of<UsageError>([&] { run_whole(dir / "s", now); });
    };
    testing::check_message(refused(other), {"not finished here", "order was none, now bfs", "restart"});
    other = options;
    other.nodes = kResumeNodes;
    testing::check_message(refused(other), {"nodes was not given, now 140000"});
    ImportOptions piped = options;
    piped.edges = InputFile{"-", {}};
    testing::check_message(refused(piped), {"cannot be read again", "restart"});
    // What is kept is still there.
    CHECK(fs::exists(dir / "s" / "import" / "record.json"));
    testing::write_file(dir / "e.txt", testing::read_all(dir / "e.txt") + "0 1\n");
    testing::check_message(refused(options), {"edges was", "e.txt of", "bytes, changed at", "restart"});
    options.restart = true;
    CHECK_FALSE(run_whole(dir / "s", options).resumed);
    CHECK_FALSE(fs::exists(dir / "s" / "import"));
  }

  TEST_CASE("damaged parts of what is kept are made again, and a damaged record begins anew") {
    const TempDir dir;
    const Inputs inputs(dir.path());
    ImportOptions options = inputs.way(0);
    options.features.reset();
    run_whole(dir / "whole", options);
    const auto expected = testing::folder_bytes(dir / "whole");
    const auto finish = [&](bool resumed) {
      ImportReport report = run_whole(dir / "s", options);
      CHECK(report.resumed.has_value() == resumed);
      CHECK(testing::folder_bytes(dir / "s") == expected);
      fs::remove_all(dir / "s");
      return report;
    };
    const auto has_remark = [](const ImportReport& report, const std::string& part) {
      return std::any_of(report.remarks.begin(), report.remarks.end(),
                         [&](const std::string& remark) { return remark.find(part) != std::string::npos; });
    };
    const auto damage_first = [&](const fs::path& folder) {
      for (const auto& item : fs::recursive_directory_iterator(folder))
        if (item.is_regular_file() && item.file_size() > 0) return testing::flip_middle(item.path());
      FAIL("nothing to damage");
    };
    end_import(dir / "s", options, 100'000);
    CHECK(finish(true).resumed->edges > 0);
    end_import(dir / "s", options, 100'000);
    testing::flip_middle(dir / "s" / "import" / "record.json");
    CHECK(has_remark(finish(false), "record of an import that was ended is damaged"));
    end_import(dir / "s", options, 100'000);
    testing::flip_middle(dir / "s" / "import" / "given.arcs");
    const ImportReport without_arcs = finish(true);
    CHECK(without_arcs.resumed->edges == 0);
    CHECK(has_remark(without_arcs, "given.arcs: damaged"));
    end_import(dir / "s", options, 100'000);
    damage_first(dir / "s" / "import" / "chunks");
    CHECK(finish(true).resumed->edges == 0);
    end_import(dir / "s", options, 100'000);
    fs::remove(dir / "s" / "import" / "given.arcs");
    CHECK(finish(true).resumed->edges == 0);
    // A folder or a link lies in the place of a kept file.
    end_import(dir / "s", options, 100'000);
    fs::remove(dir / "s" / "import" / "given.arcs");
    fs::create_directories(dir / "s" / "import" / "given.arcs" / "folder");
    CHECK(has_remark(finish(true), "given.arcs: damaged"));
    end_import(dir / "s", options, 100'000);
    fs::rename(dir / "s" / "import" / "given.arcs", dir / "elsewhere");
    fs::create_symlink(dir / "elsewhere", dir / "s" / "import" / "given.arcs");
    CHECK(has_remark(finish(true), "given.arcs: damaged"));
    CHECK(fs::exists(dir / "elsewhere"));
    end_import(dir / "s", options, 100'000);
    fs::remove(dir / "s" / "import" / "record.json");
    fs::create_directory(dir / "s" / "import" / "record.json");
    CHECK(has_remark(finish(false), "record.json: is not a file"));
    end_import(dir / "s", options, 100'000);
    fs::rename(dir / "e.txt", dir / "moved.txt");
    testing::check_message(testing::message_of<DataError>([&] { run_whole(dir / "s", options); }),
                           {"e.txt", "No such file"});
    fs::rename(dir / "moved.txt", dir / "e.txt");
    CHECK(finish(true).resumed->edges > 0);
    // In the middle of the shards.
    end_import(dir / "s", options, kResumeEdges + 80'000);
    if (fs::exists(dir / "s" / "graph")) damage_first(dir / "s" / "graph");
    finish(true);
  }

  TEST_CASE("without time for a save nothing is kept, and an error in a file leaves nothing") {
    const TempDir dir;
    const Inputs inputs(dir.path());
    ImportOptions options = inputs.way(0);
    options.keep_seconds = 1000;
    Ending some(100'000);
    CHECK_THROWS_AS(run_import(dir / "s", options, some), Cancelled);
    CHECK_FALSE(fs::exists(dir / "s"));
    options.keep_seconds = 0;
    testing::write_file(dir / "bad.txt", testing::read_all(dir / "e.txt") + "0 x\n");
    options.edges = inputs.file("bad.txt");
    CHECK_THROWS_AS(run_whole(dir / "s", options), InputError);
    CHECK_FALSE(fs::exists(dir / "s"));
  }
}

}  // namespace unweave
