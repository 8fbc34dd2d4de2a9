// tests/support/hostile/full_store.cpp - building the stores with the commands that users give.
#include "support/hostile/full_store.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "algorithms/live/store_writer.h"
#include "engine/resources/parallel.h"
#include "support/folder_bytes.h"
#include "support/graph_world.h"
#include "support/imported_sample.h"
#include "support/program.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;

void give(const std::vector<std::string>& words) {
  const Result result = run(words);
  if (result.code != 0) throw std::runtime_error(words[0] + ": " + result.error);
}

void train(const fs::path& store, const std::vector<std::string>& solvers) {
  for (const std::string& solver : solvers)
    give({"train", store.string(), "--solver", solver, "--seed", "1", "--json", "--quiet", "--memory", "256M"});
}

/// Few nodes of small degree are labelled, so that their lists are kept apart.
Sample sparse_labels(std::uint64_t seed) {
  Sample sample = random_sample(90, 0.04, 2, seed);
  std::vector<int> degree(sample.nodes);
  for (const auto& [u, v] : sample.edges) ++degree[u], ++degree[v];
  int left = 9;
  for (NodeId node = 0; node < sample.nodes; ++node) {
    const bool labelled = node % 7 != 0 && node % 5 != 0 && degree[node] < 5 && left-- > 0;
    sample.labels[node] = labelled ? static_cast<std::int32_t>(node % sample.classes) : kNoLabel;
  }
  return sample;
}

Files build_lazy(std::uint64_t seed) {
  const TempDir dir;
  const fs::path store = dir / "s";
  Sample sample = sparse_labels(seed);
  Importing importing{"bfs", FeatureType::f32, false, {}};
  importing.max_weight = 3;
  for (const auto& edge : sample.edges)
    if ((edge.first + edge.second) % 3 != 0) sample.weights[edge] = 1 + (edge.first + edge.second) % 3;
  for (NodeId node = 0; node < sample.nodes; ++node) importing.names.push_back("n" + std::to_string(node));
  import_sample(store, sample, importing);
  propagate_store(store, tiny_spec(2, false));
  std::vector<Request> notes;  // some of these edges go with later requests, others keep theirs
  for (auto edge = sample.edges.begin(); notes.size() < 12 && edge != sample.edges.end(); ++edge)
    notes.push_back({RequestKind::expire_edge, edge->first, edge->second, {}, "2100-01-01T00:00:00.000Z"});
  apply_batch(store, notes, 0.05, true);
  std::vector<Request> requests = random_requests(sample, 24, seed);
  const auto& [u, v] = *sample.edges.rbegin();
  for (const std::size_t place : {2U, 14U})
    requests[place] = {RequestKind::set_weight, u, v, {}, place == 2 ? "2" : "3"};
  apply_batch(store, std::span(requests).first(6), 0.05, true);
  train(store, {"newton", "hessian-free"});
  apply_batch(store, std::span(requests).subspan(6, 6), 0.05, true);
  for (std::size_t first = 12; first < 24; first += 4)
    apply_batch(store, std::span(requests).subspan(first, 4), 0.05, false);
  StoreWriter(store, ample_budget()).record();  // a clean close
  return folder_bytes(store);
}

const std::vector<std::string> kSolvers = {"newton",  "retrain",           "scalegun",     "langevin",  "rewind",
                                           "descend", "descent-to-delete", "hessian-free", "streaming", "newton-step"};

Files build_models(std::uint64_t seed) {
  const TempDir dir;
  const fs::path store = dir / "s";
  const Sample sample = random_sample(48, 0.08, 3, seed);
  import_sample(store, sample, {"none", FeatureType::f16, true});
  propagate_store(store, tiny_spec(2, true));
  train(store, kSolvers);
  write_file(dir / "r", "edge " + std::to_string(sample.edges.begin()->first) + " " +
                            std::to_string(sample.edges.begin()->second) + "\n");
  for (const std::string& solver : kSolvers)  // the first applies it, the others come to it
    give({"stream", store.string(), "--requests", solver == kSolvers[0] ? (dir / "r").string() : "/dev/null",
          "--solver", solver, "--seed", "2", "--quiet", "--memory", "256M"});
  return folder_bytes(store);
}

const std::vector<std::string> kPooledSolvers = {"newton", "retrain"};

Files build_whole_graphs(std::uint64_t seed) {
  const TempDir dir;
  const fs::path store = dir / "s";
  const GraphWorld world = graph_world(70, 9, seed);
  world.import(store);
  propagate_store(store, tiny_spec(1, true));
  for (const std::string& solver : kPooledSolvers)
    give({"train", store.string(), "--pool", "mean", "--solver", solver, "--json", "--quiet", "--memory", "256M"});
  std::string first, later;
  for (const std::string& line : changing_lines(world, 16, seed)) first += line + "\n";
  for (const std::string& line : changing_lines(world, 8, seed + 1)) later += line + "\n";
  write_file(dir / "r", first + "graph 3\n");
  write_file(dir / "later", later);
  for (const std::string& solver : kPooledSolvers)  // the first applies it, the others come to it
    give({"stream", store.string(), "--requests", solver == kPooledSolvers[0] ? (dir / "r").string() : "/dev/null",
          "--solver", solver, "--quiet", "--memory", "256M"});
  give({"stream", store.string(), "--requests", (dir / "later").string(), "--quiet", "--memory", "256M"});
  return folder_bytes(store);
}

Files build_kept(std::uint64_t seed) {
  const TempDir dir;
  const fs::path store = dir / "s";
  import_sample(store, sparse_labels(seed), {"community", FeatureType::f32, false, {}});
  PropagationSpec spec = tiny_spec(2, false);
  spec.kept = {Keep::hops, FeatureType::f16, 2};
  propagate_store(store, spec);
  train(store, {"newton"});
  return folder_bytes(store);
}

FullStore build(const std::string& name, Files (*make)(std::uint64_t), std::vector<std::string> solvers) {
  FullStore store{name, {}, {}, std::move(solvers), {}, true};
  for (const std::uint64_t seed : {5, 6}) {
    const TempDir dir;
    const Ended ended = run_apart([&] {
      write_files(make(seed), dir / "s");
      return std::string();
    });
    REQUIRE_MESSAGE(ended.code == 0, ended.text);
    (seed == 5 ? store.files : store.of_other_seed) = folder_bytes(dir / "s");
  }
  for (const auto& [path, bytes] : store.files)
    if (path.starts_with("journal/") && bytes.size() > 40) store.journal = path;
  return store;
}

}  // namespace

FullStore lazy_store() {
  return build("lazy stream", build_lazy, {"newton", "hessian-free"});
}

FullStore model_store() {
  return build("models", build_models, kSolvers);
}

FullStore whole_graphs_store() {
  return build("whole graphs", build_whole_graphs, kPooledSolvers);
}

FullStore kept_store() {
  FullStore store = build("kept rows", build_kept, {"newton"});
  store.streams = false;
  return store;
}

void write_files(const Files& files, const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [path, bytes] : files) {
    fs::create_directories((folder / path).parent_path());
    std::ofstream(folder / path, std::ios::binary) << bytes;
  }
}

Ended run_apart(const std::function<std::string()>& work, unsigned seconds) {
  const TempDir dir;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
    ::alarm(seconds);
    const ThreadLimit limit(1);
    int code = 0;
    std::string text;
    try {
      text = work();
    } catch (const std::exception& error) {
      text = error.what();
      code = 99;
    }
    std::ofstream(dir / "text", std::ios::binary) << text;
    ::_exit(code);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return {WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status), read_all(dir / "text")};
}

}  // namespace unweave::testing
