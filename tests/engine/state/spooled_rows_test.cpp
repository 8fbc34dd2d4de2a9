// tests/engine/state/spooled_rows_test.cpp - rows in files that are merged by size: none is lost,
// and few are moved often.
#include "engine/state/spooled_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/temp_dir.h"

namespace unweave {
namespace {

/// Rows of one number each, spilled as those of a level are.
class NumberedRows {
 public:
  /// New rows go to a file, with those of the files that do not stay.
  void spill(std::size_t fresh) {
    const std::size_t keep = spools_.files_to_keep();
    kept_some_ = kept_some_ || (keep > 0 && keep + 1 < files_.size());
    while (files_.size() > keep) {
      fresh_moved_ += files_.back();
      fresh += files_.back();
      files_.pop_back();
    }
    files_.push_back(fresh);
    while (places_.size() < total() || places_.empty()) places_.push_back(nullptr);
    const auto moves = [&](const std::byte* place) { return place == nullptr || spools_.holds(place, keep); };
    const std::byte* at = spools_.write(folder_.path(), fresh * sizeof(std::uint64_t), [&](const auto& add) {
      for (std::uint64_t row = 0; row < places_.size(); ++row)
        if (moves(places_[row])) add(std::as_bytes(std::span(&row, 1)));
    });
    std::size_t moved = 0;
    for (const std::byte*& place : places_) {
      if (!moves(place)) continue;
      place = at;
      at += sizeof(std::uint64_t);
      ++moved;
    }
    CHECK(moved == fresh);
    spools_.forget_merged(keep);
  }
  void check() const {
    for (std::uint64_t row = 0; row < places_.size(); ++row) {
      std::uint64_t value = 0;
      REQUIRE(spools_.holds(places_[row]));
      std::memcpy(&value, places_[row], sizeof value);
      REQUIRE(value == row);
    }
  }
  [[nodiscard]] std::size_t total() const {
    std::size_t rows = 0;
    for (const std::size_t file : files_) rows += file;
    return rows;
  }
  [[nodiscard]] std::size_t files() const { return files_.size(); }
  [[nodiscard]] std::size_t moved_again() const { return fresh_moved_; }
  /// Whether some files were merged while older ones stayed.
  [[nodiscard]] bool kept_some() const { return kept_some_; }

 private:
  testing::TempDir folder_;
  SpooledRows spools_;
  std::vector<const std::byte*> places_;
  std::vector<std::size_t> files_;
  std::size_t fresh_moved_ = 0;
  bool kept_some_ = false;
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("many small spills after a large one leave it where it lies, and all rows read as before") {
    NumberedRows rows;
    rows.spill(5000);
    for (int spill = 0; spill < 200; ++spill) {
      rows.spill(3);
      rows.check();
      CHECK(rows.files() <= 16);
    }
    CHECK(rows.kept_some());
    CHECK(rows.moved_again() < 3 * 600);  // and never the large one's
  }

  TEST_CASE("small files before a large one do not make later ones move each time") {
    NumberedRows rows;
    for (int spill = 0; spill < 14; ++spill) rows.spill(1);
    rows.spill(100);
    for (int spill = 0; spill < 400; ++spill) rows.spill(1);
    rows.check();
    CHECK(rows.kept_some());
    CHECK(rows.moved_again() < 4 * rows.total());
  }
}

}  // namespace unweave
