// tests/engine/resources/machine_profile_test.cpp - rates are kept, measured anew where what is
// kept is no use, and bounded.
#include "engine/resources/machine_profile.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/resources/residency.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

/// Profiles are kept in this folder as long as the object lives.
class CacheFolder {
 public:
  explicit CacheFolder(const fs::path& folder) {
    if (const char* const before = std::getenv("UNWEAVE_CACHE")) before_ = before;
    ::setenv("UNWEAVE_CACHE", folder.c_str(), 1);
  }
  ~CacheFolder() { before_.empty() ? ::unsetenv("UNWEAVE_CACHE") : ::setenv("UNWEAVE_CACHE", before_.c_str(), 1); }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

 private:
  std::string before_;
};

MachineProfile some_profile() {
  MachineProfile profile;
  profile.disk = {1e9, 5e8, 5e4, 1e-3};
  profile.commit_byte_seconds = 2e-10;
  profile.measured_at = 1'790'000'000;
  profile.file_system = "ext4";
  double seconds = 1e-9;
  for (const std::uint64_t buffer : {std::uint64_t{1} << 20, std::uint64_t{64} << 20, std::uint64_t{512} << 20})
    for (const std::uint32_t row : {64U, 128U, 256U, 512U}) profile.fetches.push_back({buffer, row, seconds += 1e-9});
  return profile;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a profile is what it was after it has been text") {
    const MachineProfile profile = some_profile();
    const std::string text = profile_text(profile, "this machine");
    const auto again = profile_of_text(text, "this machine");
    REQUIRE(again.has_value());
    CHECK(profile_text(*again, "this machine") == text);
    CHECK(again->disk.random_pages_per_second == 5e4);
    CHECK(again->fetches.size() == 12);
    CHECK_FALSE(profile_of_text(text, "another machine"));
  }

  TEST_CASE("a text that is damaged, cut or beyond belief is no profile") {
    const std::string text = profile_text(some_profile(), "m");
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 3})
      CHECK_FALSE(profile_of_text(text.substr(0, length), "m"));
    CHECK_FALSE(profile_of_text("[1, 2]", "m"));
    const auto refuses = [&](const auto& change) {
      MachineProfile wrong = some_profile();
      change(wrong);
      CHECK_FALSE(profile_of_text(profile_text(wrong, "m"), "m"));
    };
    refuses([](MachineProfile& one) { one.disk.read_bytes_per_second = 0; });
    refuses([](MachineProfile& one) { one.disk.read_bytes_per_second = 1e15; });
    refuses([](MachineProfile& one) { one.disk.write_bytes_per_second = -1; });
    refuses([](MachineProfile& one) { one.disk.random_pages_per_second = 0; });
    refuses([](MachineProfile& one) { one.disk.sync_seconds = 1e6; });
    refuses([](MachineProfile& one) { one.measured_at = 0; });
    refuses([](MachineProfile& one) { one.commit_byte_seconds = 1; });
    refuses([](MachineProfile& one) { one.fetches.clear(); });
    refuses([](MachineProfile& one) { one.fetches.pop_back(); });
    refuses([](MachineProfile& one) { one.fetches[3].seconds = 1; });
    refuses([](MachineProfile& one) { one.fetches[3].row_bytes = 7; });
    refuses([](MachineProfile& one) { std::swap(one.fetches[0], one.fetches[4]); });
  }

  TEST_CASE("a row costs more the longer it is and the larger the buffer, between and beyond what was measured") {
    const MachineProfile profile = some_profile();
    CHECK(profile.fetch_seconds(1, 1) == profile.fetches.front().seconds);
    CHECK(profile.fetch_seconds(0x1p20, 128) == doctest::Approx(profile.fetches[1].seconds));
    double before = 0;
    for (const double row : {64.0, 100.0, 128.0, 300.0, 512.0, 2048.0}) {
      const double seconds = profile.fetch_seconds(0x1p25, row);
      CHECK(seconds > before);
      before = seconds;
    }
    before = 0;
    for (const double buffer : {0x1p20, 0x1p23, 0x1p26, 0x1p28, 0x1p29, 0x1p34}) {
      const double seconds = profile.fetch_seconds(buffer, 256);
      CHECK(seconds > before);
      before = seconds;
    }
    CHECK(MachineProfile().fetch_seconds(1e9, 64) == 0);
  }

  TEST_CASE(
      "rates are measured once and kept; what is damaged is measured anew, and a folder that cannot be made keeps none" *
      doctest::test_suite("slow")) {
    const testing::TempDir dir(testing::Where::disk);
    fs::create_directory(dir / "place");
    MemoryBudget budget(std::uint64_t{1} << 30);
    {
      const CacheFolder cache(dir / "deep" / "cache");
      CHECK_FALSE(machine_profile(dir / "place", budget, ProfileUse::kept));
      const auto first = machine_profile(dir / "place", budget, ProfileUse::kept_or_measured);
      REQUIRE(first.has_value());
      CHECK(first->is_in_file);
      CHECK(budget.used() == 0);
      CHECK(fs::is_empty(dir / "place"));
      const fs::path file = profile_file(dir / "place");
      REQUIRE(fs::exists(file));
      const std::string text = text_of(file);
      const auto kept = machine_profile(dir / "place", budget, ProfileUse::kept);
      REQUIRE(kept.has_value());
      CHECK(kept->disk.read_bytes_per_second == first->disk.read_bytes_per_second);
      CHECK(text_of(file) == text);
      std::ofstream(file) << text.substr(0, text.size() / 2);
      CHECK_FALSE(machine_profile(dir / "place", budget, ProfileUse::kept));
      CHECK(machine_profile(dir / "place", budget, ProfileUse::kept_or_measured).has_value());
      CHECK(machine_profile(dir / "place", budget, ProfileUse::kept).has_value());
      CHECK_FALSE(machine_profile(dir / "nowhere", budget, ProfileUse::measured));
      CHECK_FALSE(machine_profile("/proc", budget, ProfileUse::measured));
    }
    std::ofstream(dir / "file") << "no folder";
    const CacheFolder cache(dir / "file");
    const auto measured = machine_profile(dir / "place", budget, ProfileUse::kept_or_measured);
    REQUIRE(measured.has_value());
    CHECK_FALSE(measured->is_in_file);
    CHECK(text_of(dir / "file") == "no folder");
  }

  TEST_CASE(
      "pages of a file that was just written lie in the page cache, and files that are not there count for nothing") {
    const testing::TempDir dir;
    std::vector<fs::path> files;
    CHECK(resident_share(files) == 1);
    files.push_back(dir / "none");
    CHECK(resident_share(files) == 1);
    files.push_back(dir / "empty");
    std::ofstream(files.back()).flush();
    files.push_back(dir / "written");
    std::ofstream(files.back()) << std::string(3'000'001, 'x');
    CHECK(resident_share(files) == 1);
    CHECK(resident_share(files, 2) == 1);
  }
}

}  // namespace unweave
