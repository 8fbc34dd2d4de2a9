// tests/engine/resources/temporary_folder_test.cpp - a folder goes with its owner, however that
// ends.
#include "engine/resources/temporary_folder.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "support/temp_dir.h"

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("a temporary folder is removed with what it holds, also when its process is killed") {
    const testing::TempDir dir;
    {
      const TemporaryFolder folder(dir.path(), "one-");
      std::filesystem::create_directory(folder.path() / "inner");
      std::ofstream(folder.path() / "inner" / "file") << "x";
    }
    CHECK(std::filesystem::is_empty(dir.path()));
    for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
      CAPTURE(signal);
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        const TemporaryFolder folder(dir.path(), "a name with 'quotes' and spaces-");
        std::filesystem::create_directory(folder.path() / "inner");
        std::ofstream(folder.path() / "inner" / "file") << "x";
        std::ofstream(dir / "made") << "x";
        ::signal(signal, SIG_DFL);  // a test framework's handler is no business of the folder
        ::kill(::getpid(), signal);
        ::_exit(0);
      }
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      REQUIRE(std::filesystem::remove(dir / "made"));
      for (int i = 0; i < 3000 && !std::filesystem::is_empty(dir.path()); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      CHECK(std::filesystem::is_empty(dir.path()));
    }
  }
}

}  // namespace unweave
