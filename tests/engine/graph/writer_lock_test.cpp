// tests/engine/graph/writer_lock_test.cpp - who is told to wait for another writer, and who has the
// store open itself.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>

#include "engine/graph/store.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

std::string refusal_of(const std::filesystem::path& store) {
  try {
    const WriterLock lock(store);
  } catch (const ResourceError& error) {
    return error.what();
  }
  return {};
}

TEST_SUITE("unit") {
  TEST_CASE("a process that writes a store already is told so") {
    const testing::TempDir folder;
    std::optional<WriterLock> first(folder.path());
    CHECK(refusal_of(folder.path()).find("this process is writing this store already") != std::string::npos);
    std::optional<WriterLock> shared(first->share());
    WriterLock moved(std::move(*first));
    first.reset();
    CHECK(refusal_of(folder.path()).find("this process") != std::string::npos);
    shared.reset();
    CHECK(refusal_of(folder.path()).find("this process") != std::string::npos);
    const testing::TempDir other;
    CHECK(refusal_of(other.path()).empty());
    { const WriterLock last(std::move(moved)); }
    CHECK(refusal_of(folder.path()).empty());
  }
}

}  // namespace
}  // namespace unweave
