// tests/tools/memory_limit_test.cpp - memory of machines that tests describe by files.
#include "tools/memory_limit.h"

#include <doctest/doctest.h>

#include <fstream>

#include "support/temp_dir.h"

namespace unweave {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST_SUITE("unit") {
  TEST_CASE("physical memory counts where no group has a limit") {
    const testing::TempDir root;
    CHECK(memory_limit(root.path()) == std::uint64_t{2} << 30);  // nothing is known
    write(root / "proc/meminfo", "MemFree:   12 kB\nMemTotal:   1000 kB\nMemAvailable: 7 kB\n");
    CHECK(memory_limit(root.path()) == 1'024'000);
    CHECK(default_memory(root.path()) == 819'200);
    write(root / "proc/self/cgroup", "0::/a/b\nnot a group\n");
    write(root / "sys/fs/cgroup/a/b/memory.max", "max\n");
    CHECK(memory_limit(root.path()) == 1'024'000);
  }

  TEST_CASE("the tightest group from the own one upward counts, in both versions") {
    const testing::TempDir root;
    write(root / "proc/meminfo", "MemTotal: 1000 kB\n");
    write(root / "proc/self/cgroup", "4:cpu,memory:/docker/x\n0::/a/b\n");
    write(root / "sys/fs/cgroup/a/b/memory.max", "900000\n");
    CHECK(memory_limit(root.path()) == 900'000);
    write(root / "sys/fs/cgroup/a/memory.max", "800000\n");
    CHECK(memory_limit(root.path()) == 800'000);
    write(root / "sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "700000\n");
    CHECK(memory_limit(root.path()) == 700'000);
    write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "600000\n");  // as seen inside a container
    CHECK(memory_limit(root.path()) == 600'000);
    write(root / "sys/fs/cgroup/memory/other/memory.limit_in_bytes", "5\n");  // not ours
    CHECK(memory_limit(root.path()) == 600'000);
  }

  TEST_CASE("this machine has memory") {
    CHECK(memory_limit() > (std::uint64_t{1} << 20));
  }
}

}  // namespace
}  // namespace unweave
