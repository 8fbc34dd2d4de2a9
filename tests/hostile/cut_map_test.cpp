// tests/hostile/cut_map_test.cpp - files that are cut short under a process at work: an error, and
// nothing comes of it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "storage/formats/manifest.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/error.h"
#include "storage/io/map_guard.h"
#include "storage/io/spool_file.h"
#include "support/hostile/full_store.h"
#include "support/input_files.h"
#include "support/open_spools.h"
#include "support/process.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;

/// `unweave stream` that waits for requests between batches.
class Stream {
 public:
  explicit Stream(const fs::path& store) : pipe_(dir_ / "requests") {
    REQUIRE(::mkfifo(pipe_.c_str(), 0600) == 0);
    child_ = ::fork();
    REQUIRE(child_ >= 0);
    if (child_ == 0) {
      ::dup2(::open((dir_ / "out").c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
      ::dup2(::open((dir_ / "error").c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
      ::execl(UNWEAVE_BINARY, "unweave", "stream", store.c_str(), "--requests", pipe_.c_str(), "--batch", "1",
              "--quiet", "--memory", "64M", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    requests_ = ::open(pipe_.c_str(), O_WRONLY);
    REQUIRE(requests_ >= 0);
  }
  void send(const std::string& line) const {
    REQUIRE(::write(requests_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  }
  void wait_for_line() const {
    while (read_all(dir_ / "out").find('\n') == std::string::npos) {
      REQUIRE(::waitpid(child_, nullptr, WNOHANG) == 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  Finished finish() const {
    ::close(requests_);
    const int code = wait_for(child_);
    return {code, read_all(dir_ / "out"), read_all(dir_ / "error")};
  }

 private:
  const TempDir dir_;
  const fs::path pipe_;
  pid_t child_ = -1;
  int requests_ = -1;
};

/// What a node's removal reads: its list, its features, its sums and those of its neighbours.
std::string many_requests() {
  std::string text;
  for (int node = 0; node < 3000; node += 10) text += "node " + std::to_string(node) + "\n";
  return text;
}

struct Cut {
  const char* what;
  std::string (*file)(const Manifest&);
  std::uint64_t bytes;  ///< that are left
};

const Cut kCuts[] = {
    {"a shard, all of it", [](const Manifest& m) { return m.shards[0].path; }, 0},
    {"a shard, from its second page on", [](const Manifest& m) { return m.shards[0].path; }, 4096},
    {"features", [](const Manifest& m) { return m.feature_files[0].path; }, 4096},
    {"sums", [](const Manifest& m) { return m.levels[1].partitions[0].path; }, 4096},
};

std::function<void()> read_it_all;  // a command has no state of its own

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a stream under which a file is cut short says so, and its store is as before") {
    const TempDir dir;
    const Ended built = run_apart([&] {
      write_store(dir / "s", random_store(3000, 30000, 8, 7));
      propagate_store(dir / "s", tiny_spec(2));
      return std::string();
    });
    REQUIRE(built.code == 0);
    for (const Cut& cut : kCuts) {
      CAPTURE(cut.what);
      const TempDir copy;
      fs::copy(dir / "s", copy / "s", fs::copy_options::recursive);
      const fs::path file = copy / "s" / cut.file(read_manifest(copy / "s"));
      const std::string whole = read_all(file);
      const Stream stream(copy / "s");
      stream.send("feature 5\n");
      stream.wait_for_line();
      REQUIRE(::truncate(file.c_str(), static_cast<off_t>(cut.bytes)) == 0);
      stream.send(many_requests());
      const Finished end = stream.finish();
      CAPTURE(end.error);
      CHECK(end.code == 2);
      CHECK(end.error.find(file.filename().string()) != std::string::npos);
      CHECK(std::count(end.error.begin(), end.error.end(), '\n') == 1);
      write_file(file, whole);
      CHECK(run_process({"verify", (copy / "s").string(), "--quiet"}).code == 0);
    }
  }

  TEST_CASE("less than a page is noticed before anything comes of it; then the process can go on") {
    const TempDir dir;
    const Ended ended = run_apart([&] {
      write_store(dir / "s", path_of_three());
      const Manifest manifest = read_manifest(dir / "s");
      const fs::path file = dir / "s" / manifest.labels->path;
      const std::string whole = read_all(file);
      {
        const SealedFile labels(dir / "s", *manifest.labels, "labels");
        static_cast<void>(labels.bytes(0, 12));
        if (::truncate(file.c_str(), 130) != 0) return std::string("truncate");
        require_whole_maps();  // no page is lost
        if (message_of<FormatError>([] { require_whole_files(); }).find(file.string()) == std::string::npos)
          return std::string("not noticed");
        if (message_of<FormatError>([&] { write_manifest(dir / "s", manifest); }).empty())
          return std::string("a generation was made");
        if (::truncate(file.c_str(), 0) != 0) return std::string("truncate");
        if (labels.data()[0] != std::byte{0}) return std::string("not zero");
        if (message_of<FormatError>([&] { static_cast<void>(labels.bytes(0, 12)); }).empty())
          return std::string("the lost page was not noticed");
      }
      if (message_of<FormatError>([] { require_whole_maps(); }).find(file.string()) == std::string::npos)
        return std::string("forgotten");
      require_whole_files();  // it was told
      write_file(file, whole);
      const SealedFile labels(dir / "s", *manifest.labels, "labels");
      return std::string(labels.data()[0] == std::byte{0} ? "" : "wrong bytes");
    });
    CHECK(ended.code == 0);
    CHECK(ended.text == "");
  }

  TEST_CASE(
      "less than a page is noticed where the map is gone, and whoever saw that something is wrong hears which file") {
    const TempDir dir;
    const Ended ended = run_apart([&] {
      write_store(dir / "s", path_of_three());
      const Manifest manifest = read_manifest(dir / "s");
      const fs::path file = dir / "s" / manifest.labels->path;
      const std::string whole = read_all(file);
      const auto names_file = [&](const auto& action) {
        return message_of<FormatError>(action).find(file.string()) != std::string::npos;
      };
      const auto read_cut_file = [&] {
        const SealedFile labels(dir / "s", *manifest.labels, "labels");
        static_cast<void>(labels.bytes(0, 12));
        REQUIRE(::truncate(file.c_str(), 130) == 0);
      };
      read_cut_file();
      if (!names_file([&] { write_manifest(dir / "s", manifest); })) return std::string("a generation was made");
      if (!names_file([] { detail::fail_cut_map(); })) return std::string("a second thread hears of no file");
      write_file(file, whole);
      require_whole_files();  // it was told

      read_it_all = read_cut_file;
      const Command command{"read", "", [](CommandLine&) { read_it_all(); }};
      const Result result = run({"read"}, {&command, 1});
      if (result.code != 2 || result.error.find(file.string()) == std::string::npos)
        return "the command ends with " + std::to_string(result.code) + " " + result.error;
      return std::string();
    });
    CHECK(ended.code == 0);
    CHECK(ended.text == "");
  }

  TEST_CASE("a temporary file that the disk does not give back is noticed, and the process can go on") {
    const TempDir dir;
    const Ended ended = run_apart([&] {
      const std::vector<std::byte> written(3 * 4096, std::byte{7});
      {
        MappedSpool spool(dir.path(), 8 * written.size());
        spool.write(0, written);
        if (spool.as<std::byte>()[5000] != std::byte{7}) return std::string("wrong bytes");
        const std::vector<fs::path> spools = open_spools(dir.path());
        if (spools.size() != 1 || ::truncate(spools.front().c_str(), 4096) != 0) return std::string("truncate");
        require_whole_maps();  // nobody has read what went
        if (spool.as<std::byte>()[5000] != std::byte{0}) return std::string("not zero");
        if (message_of<FormatError>([] { require_whole_maps(); }).find(SpoolFile::kPrefix) == std::string::npos)
          return std::string("not noticed");
      }
      if (message_of<FormatError>([] { require_whole_maps(); }).empty()) return std::string("forgotten");
      require_whole_files();  // it was told
      return std::string();
    });
    CHECK(ended.code == 0);
    CHECK(ended.text == "");
  }

  TEST_CASE("a SIGBUS elsewhere ends the process as ever") {
    const TempDir dir;
    const Ended ended = run_apart([&] {
      write_store(dir / "s", path_of_three());
      const Manifest manifest = read_manifest(dir / "s");
      const SealedFile labels(dir / "s", *manifest.labels, "labels");
      return std::string(::raise(SIGBUS) == 0 ? "alive" : "");
    });
    CHECK(ended.code == -SIGBUS);
  }
}

}  // namespace unweave::testing
