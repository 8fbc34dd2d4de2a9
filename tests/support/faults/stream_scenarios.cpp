// tests/support/faults/stream_scenarios.cpp - streams and their checkpoints, compared with runs
// without faults.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "algorithms/live/digest.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "storage/input/request_reader.h"
#include "support/faults/scenarios.h"
#include "support/faults/store_checks.h"
#include "support/graph_world.h"
#include "support/opened_store.h"
#include "support/pair_world.h"
#include "support/program.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;

/// Digests by the number of requests, of batches one after another.
using Digests = std::map<std::uint64_t, std::string>;

std::string text_of(const Digests& digests) {
  std::ostringstream text;
  for (const auto& [sequence, digest] : digests) text << sequence << ' ' << digest << '\n';
  return text.str();
}

Digests digests_from(const std::string& text) {
  Digests digests;
  std::istringstream in(text);
  std::uint64_t sequence = 0;
  for (std::string digest; in >> sequence >> digest;) digests[sequence] = digest;
  return digests;
}

std::vector<Request> requests_at(const std::vector<Request>& all, std::size_t batch, std::size_t size) {
  const std::size_t first = std::min(all.size(), batch * size);
  return {all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), first + size))};
}

void apply(StoreWriter& live, const std::vector<Request>& requests, double r_max) {
  live.apply(requests, live.resolve(requests), {r_max, ThresholdScale::absolute});
}

/// Digests of a store that is opened again for every batch.
Digests digests_of(const Tree& before, const std::vector<Request>& requests, std::size_t size, double r_max) {
  return digests_from(text_after(before, [&](const fs::path& folder) {
    Digests digests{{0, digest_of(folder / "s")}};
    for (std::size_t batch = 0; batch * size < requests.size(); ++batch) {
      const auto some = requests_at(requests, batch, size);
      apply_batch(folder / "s", some, r_max, false);
      digests[digests.rbegin()->first + some.size()] = digest_of(folder / "s");
    }
    return text_of(digests);
  }));
}

/// What is wrong with the requests that a store holds, which are counted.
std::string check_requests(const fs::path& store, const Digests& digests, std::uint64_t acknowledged,
                           std::uint64_t& sequence) {
  const StoreReader live(store, budget());
  sequence = live.sequence();
  if (sequence < acknowledged)
    return "request " + std::to_string(acknowledged) + " was acknowledged, the store ends at " +
           std::to_string(sequence);
  if (!digests.contains(sequence)) return "a part of a batch, to request " + std::to_string(sequence);
  if (digest_text(content_digest(live)) != digests.at(sequence))
    return "other contents at request " + std::to_string(sequence);
  return {};
}
/// Certificates, of which the first `least` were acknowledged, are among those of the run without
/// faults.
std::string check_certificates(const fs::path& store, const std::string& solver,
                               const std::vector<std::string>& expected, std::size_t least) {
  const ModelRecord record = load_model(store, solver);
  auto lines = lines_of_text(read_all(store / "certificates" / (solver + ".jsonl")));
  // The model keeps its own until the log has it for good.
  if (lines.empty() || lines.back() != record.certificate) lines.push_back(record.certificate);
  if (lines.size() < least) return "an acknowledged certificate is gone";
  if (lines.size() > expected.size() || !std::equal(lines.begin(), lines.end(), expected.begin()))
    return "another certificate than was given";
  if (record.model.releases < least || record.model.releases > expected.size() ||
      record.certificate != expected[record.model.releases - 1])
    return "another model than was acknowledged";
  return {};
}

std::string requests_text(const std::vector<Request>& requests) {
  std::string text;
  for (const Request& request : requests) text += unweave::text_of(request) + "\n";
  return text;
}

std::vector<std::string> stream_words(const fs::path& folder, const std::string& solver, std::size_t batch, int seed) {
  return {"stream",
          (folder / "s").string(),
          "--requests",
          (folder / "requests").string(),
          "--batch",
          std::to_string(batch),
          "--json",
          "--solver",
          solver,
          "--seed",
          std::to_string(seed),
          "--memory",
          "64M",
          "--evaluate-every",
          "0"};
}

}  // namespace

Setting stream_setting(const std::string& solver) {
  const Sample rest = sample();
  const bool newton = solver == "newton" || solver == "exact";
  const std::size_t batch = newton ? 30 : 2;  // few enough for a step now and then, where another would train again
  const std::vector<Request> requests = random_requests(rest, newton ? 100 : 9, 8);
  Setting setting;
  setting.before = tree_after([&](const fs::path& folder) {
    import_sample(folder / "s", rest, {});
    propagate_store(folder / "s", tiny_spec(2, false));
    std::vector<std::string> train = {"train", (folder / "s").string(), "--solver", solver, "--seed", "1"};
    if (solver == "rewind")
      train.insert(train.end(), {"--set", "epochs=40", "--set", "capacity=1", "--set", "sigma=1"});
    command(train);
    write_file(folder / "requests", requests_text(requests));
  });
  const Digests digests = digests_of(setting.before, requests, batch, 0);
  const auto work = [=](const fs::path& folder) { return command(stream_words(folder, solver, batch, 7)); };
  const auto certificates = lines_of_text(tree_after(work, setting.before).at("s/certificates/" + solver + ".jsonl"));
  REQUIRE(certificates.size() == digests.size());  // one for the training and one for each batch
  const auto check = [=](const fs::path& folder, const std::vector<std::string>& acknowledged) {
    const fs::path store = folder / "s";
    std::uint64_t last = 0, sequence = 0, releases = 1;
    for (const std::string& line : acknowledged) {
      const auto json = nlohmann::json::parse(line);
      last = json.at("last_request");
      releases = json.value("releases", releases + (json.contains("batch") ? 1 : 0));
    }
    std::string problem = check_requests(store, digests, last, sequence);
    if (problem.empty()) problem = check_certificates(store, solver, certificates, releases);
    if (!problem.empty()) return problem;
    const Result info = run({"info", store.string(), "--json"});
    if (info.code != 0 || info.json().at("acknowledged") != sequence) return "info: " + info.out + info.error;
    // The rest of the requests, with another seed: a step that was drawn once and is drawn again
    // comes out otherwise.
    const std::uint64_t released = load_model(store, solver).model.releases;
    write_file(folder / "requests",
               requests_text({requests.begin() + static_cast<std::ptrdiff_t>(sequence), requests.end()}));
    command(stream_words(folder, solver, batch, 8));
    const auto lines = lines_of_text(read_all(store / "certificates" / (solver + ".jsonl")));
    if (lines.size() < released ||
        !std::equal(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(released), certificates.begin()))
      return std::string("a release was drawn again");
    if (load_model(store, solver).model.sequence != requests.size()) return std::string("the model lags behind");
    problem = check_requests(store, digests, requests.size(), sequence);
    return problem.empty() ? findings_of(store) : problem;
  };
  const auto reopen = [solver](const fs::path& folder) {
    const std::uint64_t read = StoreReader(folder / "s", budget()).sequence();
    acknowledge(nlohmann::json({{"last_request", read}}).dump());
    StoreWriter live(folder / "s", budget());
    const Learner learner = Learner::open(live, budget(), solver, {false, "test", {}}, 9);
    acknowledge(nlohmann::json({{"last_request", live.sequence()}, {"releases", learner.model().releases}}).dump());
    return std::string();
  };
  setting.scenario = {"stream " + solver, work, check, reopen};
  return setting;
}

namespace {

/// Batches of a store opened once. Where `checkpoints`, the first one is in the journal, and there
/// is a checkpoint after each second one of the others.
Setting batches_setting(const std::string& name, const std::function<void(const fs::path& store)>& import,
                        const std::vector<Request>& requests, double r_max, bool checkpoints, std::uint64_t memory,
                        std::size_t batch_size, bool all_rows = false) {
  const PropagationSpec spec = tiny_spec(2, all_rows);
  Setting setting;
  setting.before = tree_after([&](const fs::path& folder) {
    import(folder / "s");
    propagate_store(folder / "s", spec);
    apply_batch(folder / "s", requests_at(requests, 0, batch_size), r_max, !checkpoints);
  });
  const Tree start = tree_after([&](const fs::path& folder) {
    import(folder / "s");
    propagate_store(folder / "s", spec);
  });
  const Digests digests = digests_of(start, requests, batch_size, r_max);
  const auto work = [=](const fs::path& folder) {
    MemoryBudget own(memory);
    StoreWriter live(folder / "s", own);
    if (!checkpoints) live.set_plan(Plan::push);  // a recomputation, of a replay too, leaves nothing to fold
    try {
      for (std::size_t batch = live.sequence() / batch_size; batch * batch_size < requests.size(); ++batch) {
        apply(live, requests_at(requests, batch, batch_size), r_max);
        acknowledge(std::to_string(live.sequence()));
        if (checkpoints && batch % 2 == 0) live.checkpoint();
      }
    } catch (const std::exception&) {
      try {  // somebody who does not give up makes nothing worse
        live.checkpoint();
        acknowledge(std::to_string(live.sequence()));
      } catch (const std::exception&) {
      }
      throw;
    }
    return std::string();
  };
  const auto check = [=](const fs::path& folder, const std::vector<std::string>& acknowledged) {
    std::uint64_t sequence = 0;
    const std::uint64_t last = acknowledged.empty() ? batch_size : std::stoull(acknowledged.back());
    std::string problem = check_requests(folder / "s", digests, last, sequence);
    if (!problem.empty()) return problem;
    for (std::size_t batch = sequence / batch_size; batch * batch_size < requests.size(); ++batch)
      apply_batch(folder / "s", requests_at(requests, batch, batch_size), r_max, batch % 2 == 1);
    problem = check_requests(folder / "s", digests, requests.size(), sequence);
    return problem.empty() ? findings_of(folder / "s") : problem;
  };
  const auto reopen = [](const fs::path& folder) {
    for (const Access access : {Access::read, Access::write})
      acknowledge(std::to_string(testing::opened_store(folder / "s", access, budget())->sequence()));
    return std::string();
  };
  setting.scenario = {name, work, check, reopen};
  return setting;
}

Setting batches_setting(const std::string& name, const Sample& rest, double r_max, bool checkpoints,
                        std::uint64_t memory, std::size_t batch_size = 9) {
  return batches_setting(
      name, [&](const fs::path& store) { import_sample(store, rest, {}); }, random_requests(rest, 4 * batch_size, 8),
      r_max, checkpoints, memory, batch_size);
}

}  // namespace

Setting whole_graphs_setting() {
  const GraphWorld world = graph_world(30, 5, 3);
  return batches_setting(
      "whole graphs", [&](const fs::path& store) { world.import(store); }, requests_of(changing_lines(world, 36, 4)), 0,
      true, std::uint64_t{64} << 20, 9, true);
}

Setting held_edges_setting() {
  const PairWorld world = pair_world(3, "valid=.2,test=.2,share=.5,apart");
  Setting setting = batches_setting(
      "held edges", [&](const fs::path& store) { world.import(store); },
      requests_of(changing_lines(world.base, 36, 4, false)), 0, true, std::uint64_t{64} << 20, 9, true);
  return setting;
}

Setting checkpoint_setting() {
  return batches_setting("checkpoint", sample(), 0.02, true, std::uint64_t{64} << 20);
}

namespace {

/// Files of `folder` that the work of `setting` adds.
bool adds_files(const Setting& setting, const std::string& folder) {
  const Tree after = tree_after([&](const fs::path& at) { setting.scenario.work(at); }, setting.before);
  return std::any_of(after.begin(), after.end(), [&](const auto& file) {
    return file.first.starts_with(folder) && !setting.before.contains(file.first);
  });
}

}  // namespace

Setting fold_setting() {
  // 200 rows of 32 sums a level, and a budget of which a third holds less than what a batch
  // changes.
  Setting setting = batches_setting("fold", random_sample(200, 0.02, 32, 5), 0, false, std::uint64_t{192} << 10);
  REQUIRE(adds_files(setting, "s/state/level1-0"));
  return setting;
}

Setting graph_fold_setting() {
  // Narrow rows, and a budget of which a quarter holds less than the lists that a batch changes.
  Setting setting =
      batches_setting("fold of the graph", random_sample(400, 0.01, 1, 5), 0, false, std::uint64_t{256} << 10, 60);
  REQUIRE(adds_files(setting, "s/graph/"));
  return setting;
}

}  // namespace unweave::testing
