// tests/consumer/main.cpp - a program of somebody else's: a small store, a model, removals, and the
// proof that they hold.
//
// It includes the library's headers and the standard library, and nothing else;
// tests/consumer_test.cmake builds it against an installed library and runs it: consumer FOLDER.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string_view>
#include <vector>

#include "unweave/unweave.h"

namespace {

/// Prints how far work has come.
class Watcher final : public unweave::WorkMeter {
 public:
  void start(std::string_view step, std::uint64_t total, std::string_view unit) override {
    std::printf("  %.*s: %llu %.*s\n", static_cast<int>(step.size()), step.data(),
                static_cast<unsigned long long>(total), static_cast<int>(unit.size()), unit.data());
  }
};

void run(const std::filesystem::path& folder) {
  Watcher watcher;
  unweave::Resources resources({.memory_bytes = std::uint64_t{1} << 30, .threads = 2}, &watcher);
  const std::filesystem::path store = folder / "graph.store";

  unweave::GenerateOptions graph;
  graph.model = unweave::GraphModel::kSbm;
  graph.nodes = 2000;
  graph.edges = 10000;
  graph.features = 16;
  graph.classes = 4;
  unweave::generate_store(store, graph, resources);
  {
    unweave::Writer writer(store, resources);
    unweave::PropagationSpec spec;
    spec.levels = 2;
    spec.weights = {0, 0, 1};
    spec.scheme = "gpr";
    writer.propagate(spec);
    const unweave::TrainedModel model = writer.train({.solver = "newton"});
    std::printf("test accuracy %.3f, certified by %s\n", model.accuracies.test.value_or(0),
                model.report.claim.value_or("nothing").c_str());

    unweave::StreamSession session(writer, {.model = {.solver = "newton"}});
    const std::vector<unweave::Request> requests{{unweave::RequestKind::remove_node, 17, 0},
                                                 {unweave::RequestKind::remove_feature, 18, 0}};
    const unweave::BatchOutcome outcome = session.send(requests);
    std::printf("%llu requests are acknowledged, certified %s\n",
                static_cast<unsigned long long>(outcome.batch.last_request), outcome.step->certified ? "yes" : "no");
    session.close();
  }
  const unweave::VerifyReport report = unweave::verify_store(store, {.sample = {}, .rebuild = true}, resources);
  for (const unweave::Finding& finding : report.findings)
    std::printf("false: %s\n", unweave::plain(finding.text).c_str());
  if (!report.ok()) throw unweave::CheckError("the store is not what it says");
  std::puts("all checks hold");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : ".");
    return 0;
  } catch (const unweave::Error& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
  }
  return 1;
}
