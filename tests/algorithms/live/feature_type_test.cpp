// tests/algorithms/live/feature_type_test.cpp - features of 16 bits at rest are nothing but those
// values: state, digest and training see what they would see in a store of float32.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "algorithms/live/digest.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/synthetic/generate.h"
#include "algorithms/verification/verify.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::TempDir;
using testing::TinyStore;

/// The multiple of the spacing of halves around it that is next on the side of zero.
float truncated(float value) {
  const int exponent = std::max(std::ilogb(value), -14);
  const double spacing = std::ldexp(1.0, exponent - 10);
  return value == 0 ? value : static_cast<float>(std::trunc(static_cast<double>(value) / spacing) * spacing);
}

/// Many columns, so that there is more than one tile of them; small values among them.
TinyStore contents_of(bool sparse) {
  TinyStore contents = testing::random_store(200, 700, 37, 21);
  contents.sparse = sparse;
  for (std::size_t i = 0; i < contents.features.size(); i += 5) contents.features[i] *= 1e-5F;
  for (float& value : contents.features) value = truncated(value);
  return contents;
}

void stream(const fs::path& path, double r_max) {
  StoreWriter store(path, ample_budget());
  const std::vector<std::vector<Request>> batches{
      {{RequestKind::remove_edge, 0, 1}, {RequestKind::remove_feature, 9, 0}, {RequestKind::remove_node, 4, 0}},
      {{RequestKind::insert_edge, 100, 11}, {RequestKind::remove_feature, 100, 0}, {RequestKind::insert_edge, 4, 7}}};
  for (const auto& requests : batches)
    store.apply(requests, store.resolve(requests), {r_max, ThresholdScale::absolute});
  store.checkpoint();
}

struct State {
  std::string digest;
  testing::AllSums sums;

  explicit State(const fs::path& path) {
    const StoreReader store(path, ample_budget());
    digest = digest_text(content_digest(store));
    if (store.propagated()) sums = testing::sums_of(store.embedding(), store.contents().num_nodes());
  }
  friend bool operator==(const State&, const State&) = default;
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("state and digest of 16-bit features are those of the same values in 32 bits, through streams") {
    for (const bool sparse : {false, true}) {
      for (const bool all_rows : {false, true}) {
        for (const double r_max : {0.0, 0.3}) {
          CAPTURE(sparse);
          CAPTURE(all_rows);
          CAPTURE(r_max);
          const TempDir folder;
          TinyStore contents = contents_of(sparse);
          testing::write_store(folder / "wide", contents);
          contents.type = FeatureType::f16;
          testing::write_store(folder / "short", contents);
          CHECK(State(folder / "wide") == State(folder / "short"));
          const auto spec = testing::tiny_spec(2, all_rows);
          testing::propagate_store(folder / "wide", spec);
          testing::propagate_store(folder / "short", spec);
          const State fresh(folder / "wide");
          CHECK(fresh == State(folder / "short"));
          stream(folder / "wide", r_max);
          stream(folder / "short", r_max);
          CHECK(State(folder / "wide") == State(folder / "short"));
          CHECK_FALSE(State(folder / "wide") == fresh);
          VerifyOptions options;
          options.rebuild = r_max == 0;
          CHECK(verify_store(folder / "short", options, ample_budget()).ok());
        }
      }
    }
  }

  TEST_CASE("verify finds any flipped bit of 16-bit features, and a row above the bound or not finite" *
            doctest::test_suite("slow")) {
    for (const bool sparse : {false, true}) {
      CAPTURE(sparse);
      const TempDir folder;
      TinyStore contents = testing::random_store(20, 30, 3, 2);
      contents.sparse = sparse;
      contents.type = FeatureType::f16;
      const Manifest manifest = testing::write_store(folder / "s", contents);
      const fs::path file = folder / "s" / manifest.feature_files[0].path;
      const std::string good = testing::read_all(file);
      for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        std::string bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
        testing::write_file(file, bad);
        CHECK(verify_store(folder / "s", {}, ample_budget()).unreadable());
      }
      testing::write_file(file, good);
      CHECK(verify_store(folder / "s", {}, ample_budget()).ok());
    }
    for (const Half wrong : {Half{0x7C00}, Half{0xFE00}, Half{0x3C01}}) {  // infinity, no number, the next after 1
      const TempDir folder;
      TinyStore contents = testing::path_of_three();
      contents.type = FeatureType::f16;
      Manifest manifest = testing::write_store(folder / "s", contents);
      SealedWriter writer = start_feature_file(folder / "s", {0, 3}, manifest.feature_layout);
      writer.append_values(std::span<const Half>(std::vector<Half>{0x3C00, wrong, 0}));
      manifest.feature_files[0] = writer.finish({0, 3, 1, 0});
      write_manifest(folder / "s", manifest);
      const VerifyReport report = verify_store(folder / "s", {}, ample_budget());
      REQUIRE(report.findings.size() == 1);
      CHECK(report.findings[0].text.find("not finite or above norm 1") != std::string::npos);
    }
  }

  TEST_CASE("a manifest with 16-bit features of no columns is refused") {
    const TempDir folder;
    TinyStore contents = testing::path_of_three();
    contents.columns = 0;
    contents.features.clear();
    Manifest manifest = testing::write_store(folder / "s", contents);
    CHECK(read_manifest(folder / "s").feature_layout.type == FeatureType::f32);
    manifest.feature_layout.type = FeatureType::f16;
    write_manifest(folder / "s", manifest);
    CHECK_THROWS_AS(static_cast<void>(read_manifest(folder / "s")), FormatError);
  }

  TEST_CASE("generate rounds its features, and nothing else differs") {
    const TempDir folder;
    GenerateOptions options;
    options.scale = 8;
    options.features = 40;
    WorkMeter nobody;
    generate_store(folder / "wide", options, ample_budget(), nobody);
    options.feature_type = FeatureType::f16;
    generate_store(folder / "short", options, ample_budget(), nobody);
    const Manifest wide = read_manifest(folder / "wide");
    const Manifest half = read_manifest(folder / "short");
    CHECK(wide.shards == half.shards);
    CHECK(wide.labels == half.labels);
    CHECK(half.feature_layout == FeatureLayout{false, FeatureType::f16});
    const Contents of_wide(folder / "wide", wide);
    const Contents of_half(folder / "short", half);
    std::vector<float> expected(std::size_t{256} * 40), found(expected.size());
    of_wide.features().read({0, 256}, 0, 40, expected.data());
    of_half.features().read({0, 256}, 0, 40, found.data());
    CHECK(expected != found);
    std::transform(expected.begin(), expected.end(), expected.begin(), truncated);
    CHECK(expected == found);
    const std::uint64_t saved = wide.feature_files[0].bytes - half.feature_files[0].bytes;
    CHECK(saved >= 2 * expected.size());
    CHECK(saved <= 2 * expected.size() + expected.size() / 256);  // checksums of as many chunks
  }
}

}  // namespace unweave
