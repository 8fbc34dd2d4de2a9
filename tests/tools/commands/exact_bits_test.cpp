// tests/tools/commands/exact_bits_test.cpp - what must not reach the bits of an exact release:
// batches, history, threads, memory, order of nodes, the BLAS and its kernels. Processes of their
// own, since a BLAS is chosen when a program starts.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/imported_sample.h"
#include "support/process.h"
#include "support/skip.h"

namespace unweave {
namespace {

/// An environment variable of the programs that are started while it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

/// Netlib's BLAS where it is installed.
std::optional<std::string> other_blas() {
  for (const auto& folder : std::filesystem::directory_iterator("/usr/lib"))
    if (const auto file = folder.path() / "blas/libblas.so.3"; std::filesystem::exists(file)) return file.string();
  return std::nullopt;
}

struct World {
  testing::TempDir dir;
  testing::Sample sample = testing::random_sample(300, 0.02, 24, 11);
  std::vector<std::string> options;

  World() {
    testing::add_features(sample, 24, 3, 1.0);
    static_cast<void>(testing::write_sample(dir.path(), sample, {}));
    options = {"--edges",    file("edges"),
               "--features", file("x.npy"),
               "--labels",   file("y.npy"),
               "--classes",  std::to_string(sample.classes),
               "--split",    "train=" + file("train") + ",valid=" + file("valid") + ",test=" + file("test")};
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (dir / name).string(); }

  /// A propagated store of the sample.
  std::string store(const std::string& name, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"import", file(name)};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), more.begin(), more.end());
    testing::must(words);
    testing::must({"propagate", file(name), "--hops", "2", "--weights", "0,0,1"});
    return file(name);
  }
  void train(const std::string& store, const std::string& solver, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"train", store, "--solver", solver, "--lambda", "1e-4", "--quiet"});
    testing::must(more);
  }
  [[nodiscard]] std::string weights(const std::string& store, const std::string& solver) const {
    const std::string out = file("weights.npy");
    std::filesystem::remove(out);
    testing::must({"export", store, "--solver", solver, "--model", out});
    return testing::read_all(out);
  }
  [[nodiscard]] std::string trained(const std::string& store, const std::string& solver,
                                    const std::vector<std::string>& more = {}) const {
    train(store, solver, more);
    return weights(store, solver);
  }
};

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("exact: batches, history, threads, memory and order of nodes do not reach the bits") {
    const World world;
    const std::string store = world.store("s"), ordered = world.store("o", {"--order", "bfs"});
    const std::string requests = world.file("requests");
    testing::must({"export", store, "--requests", requests, "--draw", "node", "--count", "6", "--seed", "2"});
    for (const std::string head : {"logistic", "softmax", "least-squares"}) {
      CAPTURE(head);
      const std::string first = world.trained(store, "exact", {"--head", head});
      CHECK(world.trained(store, "exact", {"--head", head, "--threads", "1"}) == first);
      CHECK(world.trained(store, "exact", {"--head", head, "--memory", "20M"}) == first);
      CHECK(world.trained(ordered, "exact", {"--head", head}) == first);

      const std::string warm = world.file("warm-" + head);
      std::filesystem::copy(store, warm, std::filesystem::copy_options::recursive);
      testing::must({"stream", warm, "--requests", requests, "--batch", "2", "--solver", "exact", "--threads", "1"});
      const std::string after = world.weights(warm, "exact");
      CHECK(after != first);
      const std::string cold = world.file("cold-" + head);
      std::filesystem::copy(store, cold, std::filesystem::copy_options::recursive);
      testing::must({"stream", cold, "--requests", requests});
      CHECK(world.trained(cold, "exact", {"--head", head}) == after);
      testing::must({"verify", warm});
    }
  }

  TEST_CASE(
      "exact: the BLAS and its kernels do not reach the bits, though they reach those of a model by float64 products") {
    const World world;
    const std::string store = world.store("s");
    const std::string exact = world.trained(store, "exact"), floating = world.trained(store, "finetune");
    {
      // Generic kernels. BLIS 0.9 understands the number alone, takes a name for 0, and ends at a
      // number that it does not know.
      const Environment kernels("BLIS_ARCH_TYPE", "25");
      CHECK(world.trained(store, "exact") == exact);
      CHECK(world.trained(store, "finetune") != floating);
    }
    if (const std::optional<std::string> blas = other_blas()) {
      const Environment preloaded("LD_PRELOAD", *blas);
      CHECK(world.trained(store, "exact") == exact);
      CHECK(world.trained(store, "finetune") != floating);
    } else {
      testing::skip("no other BLAS is installed (Debian's libblas3)");
    }
  }
}

}  // namespace unweave
