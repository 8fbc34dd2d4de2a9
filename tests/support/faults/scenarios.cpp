// tests/support/faults/scenarios.cpp - import, propagate, train and purge, compared with runs
// without faults.
#include "support/faults/scenarios.h"

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/learner.h"
#include "engine/generations/store_purge.h"
#include "engine/ingest/store_import.h"
#include "storage/io/error.h"
#include "support/faults/store_checks.h"
#include "support/graph_world.h"
#include "support/pair_world.h"

namespace unweave::testing {

namespace fs = std::filesystem;

namespace {

/// The store's files that the work leaves, without strays.
Tree tidied_after(const std::function<std::string(const fs::path&)>& work, const Tree& before) {
  const auto tidy_too = [&](const fs::path& folder) {
    work(folder);
    static_cast<void>(tidied(folder / "s"));
  };
  return files_below(tree_after(tidy_too, before), "s/");
}

}  // namespace

Setting import_setting(const std::string& order) {
  const Sample rest = sample();
  Setting setting;
  setting.before = tree_after([&](const fs::path& folder) { write_sample(folder, rest, {}); });
  const auto words = [order, nodes = std::to_string(rest.nodes)](const fs::path& folder) {
    const auto file = [&](const char* name) { return (folder / name).string(); };
    return std::vector<std::string>{
        "import",      file("s"),     "--edges",
        file("edges"), "--features",  file("x.npy"),
        "--labels",    file("y.npy"), "--classes",
        "3",           "--nodes",     nodes,
        "--order",     order,         "--memory",
        "64M",         "--split",     "train=" + file("train") + ",valid=" + file("valid") + ",test=" + file("test"),
        "--json"};
  };
  const auto work = [words](const fs::path& folder) { return command(words(folder)); };
  const Tree expected = tidied_after(work, setting.before);
  setting.scenario = {"import, order " + order, work,
                      [words, expected](const fs::path& folder, const std::vector<std::string>& acknowledged) {
                        const bool done = fs::exists(folder / "s" / "manifest.json");
                        if (!done && !acknowledged.empty()) return std::string("an acknowledged import is gone");
                        return check_rerun(folder / "s", done, words(folder), expected);
                      },
                      open_as_next_writer};
  return setting;
}

Setting propagate_setting(bool again) {
  Setting setting;
  setting.before = tree_after([&](const fs::path& folder) {
    import_sample(folder / "s", sample(), {});
    if (again) propagate_store(folder / "s", tiny_spec(1));
  });
  const auto words = [](const fs::path& folder) {
    return std::vector<std::string>{
        "propagate", (folder / "s").string(), "--hops", "2", "--rho", "0.5", "--json", "--memory", "64M", "--rows",
        "labelled"};
  };
  const auto work = [words](const fs::path& folder) { return command(words(folder)); };
  const Tree expected = tidied_after(work, setting.before);
  setting.scenario = {again ? "propagate again" : "propagate", work,
                      [words, expected](const fs::path& folder, const std::vector<std::string>& acknowledged) {
                        const Manifest manifest = read_manifest(folder / "s");
                        const bool done = manifest.propagation && manifest.propagation->levels == 2;
                        if (!done && !acknowledged.empty()) return std::string("an acknowledged propagation is gone");
                        return check_rerun(folder / "s", done, words(folder), expected);
                      },
                      open_as_next_writer};
  return setting;
}

namespace {

/// A command that makes the first model of a propagated store.
Setting model_setting(const std::string& solver, const std::string& title,
                      const std::function<std::string(const fs::path&)>& work, Tree before) {
  const auto check = [=](const fs::path& folder, const std::vector<std::string>& acknowledged) {
    const fs::path store = folder / "s";
    const auto models = list_models(store);
    if (models.empty() && !acknowledged.empty()) return std::string("an acknowledged model is gone");
    for (const ModelSummary& model : models)
      if (!model.damage.empty()) return model.damage;
    const auto open = [&] {
      StoreWriter live(store, budget());
      return Learner::open(live, budget(), solver, {false, "test", {}}, {}).record().certificate;
    };
    if (models.empty()) work(folder);
    const auto certificate = open();
    const auto lines = lines_of_text(read_all(store / "certificates" / (solver + ".jsonl")));
    if (lines != std::vector{certificate}) return "certificates: " + std::to_string(lines.size());
    return findings_of(store);
  };
  return {std::move(before), {title, work, check, open_as_next_writer}};
}

void propagated_store(const fs::path& store) {
  import_sample(store, sample(), {});
  propagate_store(store, tiny_spec(2, false));
}

}  // namespace

Setting train_setting(const std::string& solver) {
  const auto work = [solver](const fs::path& folder) {
    std::vector<std::string> words = {
        "train", (folder / "s").string(), "--solver", solver, "--memory", "64M", "--seed", "7", "--json"};
    if (solver == "rewind") words.insert(words.end(), {"--set", "epochs=40"});
    return command(words);
  };
  return model_setting(solver, "train " + solver, work,
                       tree_after([](const fs::path& folder) { propagated_store(folder / "s"); }));
}

Setting certify_setting(const std::string& solver) {
  const auto work = [solver](const fs::path& folder) {
    return command({"certify", (folder / "s").string(), "--model", (folder / "w.npz").string(), "--solver", solver,
                    "--memory", "64M", "--seed", "7", "--json"});
  };
  const auto before = [](const fs::path& folder) {
    const fs::path elsewhere = folder / "t";
    propagated_store(elsewhere);
    command({"train", elsewhere.string(), "--solver", "retrain", "--memory", "64M", "--seed", "7"});
    command({"export", elsewhere.string(), "--model", (folder / "w.npz").string(), "--name", "retrain"});
    fs::remove_all(elsewhere);
    propagated_store(folder / "s");
  };
  return model_setting(solver, "certify " + solver, work, tree_after(before));
}

Setting repair_setting() {
  Setting setting;
  setting.before = tree_after([&](const fs::path& folder) {
    const fs::path store = folder / "s";
    const Sample rest = sample();
    const std::vector<Request> requests = random_requests(rest, 24, 8);
    import_sample(store, rest, {});
    propagate_store(store, tiny_spec(2, false));
    apply_batch(store, std::span(requests).first(8), 0, true);
    for (const char* seed : {"1", "2"})
      command({"train", store.string(), "--solver", "newton", "--seed", seed, "--memory", "64M"});
    apply_batch(store, std::span(requests).subspan(8, 8), 0, false);
    apply_batch(store, std::span(requests).subspan(16), 0, false);
    command({"train", store.string(), "--solver", "retrain", "--seed", "1", "--memory", "64M"});
    StoreWriter(store, budget()).record();
    const Manifest manifest = read_manifest(store);
    const fs::path journal = store / manifest.journal.value().path;
    fs::resize_file(journal, fs::file_size(journal) - 50);
    const fs::path sums = store / manifest.levels[1].partitions[0].path, log = public_log(store, "newton");
    flip_middle(sums);
    const std::string lines = read_all(log);
    write_file(log, lines.substr(0, lines.find('\n') + 1));
  });
  const auto work = [](const fs::path& folder) {
    return command({"repair", (folder / "s").string(), "--cut-journal", "--json", "--memory", "64M"});
  };
  const Tree expected = tidied_after(work, setting.before);
  const auto check = [=](const fs::path& folder, const std::vector<std::string>&) {
    for (const FileEntry& entry : read_manifest(folder / "s").releases)  // or nobody would hear of requests given up
      if (!fs::exists(folder / "s" / entry.path)) return "the manifest records a lost " + entry.path;
    work(folder);
    const Tree files = tidied(folder / "s");
    if (files != expected) return "other files: " + names_of(files) + " instead of " + names_of(expected);
    return findings_of(folder / "s");
  };
  const auto reopen = [](const fs::path& folder) {
    try {
      return open_as_next_writer(folder);
    } catch (const DataError&) {  // not repaired yet
      return std::string();
    }
  };
  setting.scenario = {"repair", work, check, reopen};
  return setting;
}

Setting grow_setting(const Importing& importing, bool all_rows) {
  Setting setting;
  setting.before = tree_after([&](const fs::path& folder) {
    Sample rest = sample();
    import_sample(folder / "s", rest, importing);
    propagate_store(folder / "s", tiny_spec(2, all_rows));
    stream_sample(folder / "s", rest, random_requests(rest, 35, 8), 7, 0.02);
  });
  const auto work = [](const fs::path& folder) {
    return command({"grow", (folder / "s").string(), "--nodes", "90", "--json", "--quiet", "--memory", "64M"});
  };
  const Tree expected = tidied_after(work, setting.before);
  const auto digest = [](const fs::path& folder) { return digest_of(folder / "s"); };
  const std::string few = text_after(setting.before, digest);
  const std::string many = text_after(setting.before, [&](const fs::path& folder) {
    work(folder);
    return digest(folder);
  });
  const auto check = [=](const fs::path& folder, const std::vector<std::string>& acknowledged) -> std::string {
    const std::string found = digest(folder);
    if (found != few && found != many) return "neither the old nor the new contents";
    if (found == few && !acknowledged.empty()) return "an acknowledged growth is gone";
    work(folder);
    const Tree files = tidied(folder / "s");
    if (files != expected) return "other files: " + names_of(files) + " instead of " + names_of(expected);
    return findings_of(folder / "s");
  };
  setting.scenario = {"grow, order " + importing.order, work, check, open_as_next_writer};
  return setting;
}

namespace {

/// A purge of a store, and the files that a fresh import of what is left makes. Both write the
/// store's folder.
Setting purge_of(const std::string& title, const std::function<void(const fs::path& store)>& streamed,
                 const std::function<void(const fs::path& store)>& fresh, const PurgeOptions& options = {}) {
  const bool in_steps = options.step_bytes.has_value();
  Setting setting;
  setting.before = tree_after([&](const fs::path& folder) {
    streamed(folder / "s");
    for (const char* made : {"models/newton", "certificates"}) fs::create_directories(folder / "s" / made);
    for (const char* file : {"models/newton.model", "models/newton/slots", "certificates/newton.jsonl"})
      write_file(folder / "s" / file, "remains");
  });
  const Tree after = files_below(tree_after([&](const fs::path& folder) { fresh(folder / "s"); }), "s/");
  const Tree before = files_below(setting.before, "s/");
  const std::string stale = text_after(setting.before, [](const fs::path& folder) { return digest_of(folder / "s"); });
  const auto work = [=](const fs::path& folder) {
    WorkMeter nobody;
    try {
      purge_store(folder / "s", options, budget(), nobody);
    } catch (const std::exception&) {
      if (in_steps) throw;  // some of them were done
      // Where a failed purge could give up, nothing is to be seen of it; the very last step may
      // fail too.
      Tree files = files_below(read_tree(folder), "s/");
      files.erase("purge.new");  // where nothing can be removed any more
      if (purge_state(folder / "s") == PurgeState::none && files != before && files != after)
        throw std::logic_error("a purge that failed left " + names_of(files));
      throw;
    }
    acknowledge("purged");
    return std::string();
  };
  const std::string digest = text_after(setting.before, [&](const fs::path& folder) {
    work(folder);
    return digest_of(folder / "s");
  });
  const auto check = [=](const fs::path& folder, const std::vector<std::string>& acknowledged) -> std::string {
    const fs::path store = folder / "s";
    const PurgeState state = purge_state(store);
    {
      const StoreReader live(store, budget());
      const std::string found = digest_text(content_digest(live));
      if (live.sequence() != 0) {
        if (!acknowledged.empty()) return "an acknowledged purge is gone";
        if (state == PurgeState::decided) return "a decided purge shows the old contents";
        // Steps begin when stale rows are published: then it has the new contents, and requests.
        if (found != stale && !(in_steps && found == digest)) return "neither the old nor the new contents";
        for (const auto& [path, bytes] : before)
          if (!in_steps && read_all(store / path) != bytes) return "changed before the purge is decided: " + path;
      } else {
        if (found != digest) return "neither the old nor the new contents";
        if (state == PurgeState::decided && !list_models(store).empty()) return "a model of removed data is shown";
        if (state == PurgeState::begun) return "the new contents without a decision";
        if (state == PurgeState::none && files_below(read_tree(folder), "s/") != after) return "remains after the end";
      }
    }
    if (state == PurgeState::decided) {  // the next writer of any kind goes on
      if (tidied(store) != after) return "remains after the next writer";
    }
    work(folder);
    if (tidied(store) != after) return "remains after a second purge: " + names_of(tidied(store));
    return {};
  };
  setting.scenario = {title, work, check, open_as_next_writer};
  return setting;
}

/// A store of a world, and one of what its requests leave of it.
template <class World>
Setting purge_of_world(const std::string& title, const World& world, const std::vector<std::string>& lines,
                       const std::function<void(World&, const std::string&)>& apply_line) {
  const auto store_of = [](const World& one, const fs::path& store) {
    one.import(store);
    propagate_store(store, tiny_spec(2, true));
  };
  const auto streamed = [&](const fs::path& store) {
    constexpr std::size_t kBatch = 9;
    store_of(world, store);
    const std::vector<Request> requests = requests_of(lines);
    for (std::size_t first = 0; first < requests.size(); first += kBatch)
      apply_batch(store, std::span(requests).subspan(first, std::min(kBatch, requests.size() - first)), 0,
                  first % (2 * kBatch) == 0);
  };
  const auto fresh = [&](const fs::path& store) {
    World left = world;
    for (const std::string& line : lines) apply_line(left, line);
    store_of(left, store);
  };
  return purge_of(title, streamed, fresh);
}

}  // namespace

Setting purge_setting(const Importing& importing, bool all_rows) {
  const auto streamed = [&](const fs::path& store) {
    Sample all = sample();
    import_sample(store, all, importing);
    propagate_store(store, tiny_spec(2, all_rows));
    stream_sample(store, all, random_requests(sample(), 35, 8), 7, 0.02);
  };
  const auto fresh = [&](const fs::path& store) {
    Sample rest = sample();
    for (const Request& request : random_requests(sample(), 35, 8)) apply_naively(rest, request);
    import_sample(store, rest, importing);
    propagate_store(store, tiny_spec(2, all_rows));
  };
  return purge_of("purge, order " + importing.order, streamed, fresh);
}

Setting purge_steps_setting(bool three_spans) {
  Sample whole = sample();
  std::vector<Request> requests = random_requests(whole, 35, 8);
  if (three_spans) {
    whole = {};
    whole.nodes = 140'000;
    for (NodeId u = 0; u < 20; ++u) {
      for (const NodeId span : {0U, 65'536U, 131'072U}) whole.edges.insert({span + u, span + u + 1});
      whole.edges.insert({u, 131'072 + 2 * u});
    }
    add_features(whole, 1, 1, 0);
    whole.labels.at(3) = whole.labels.at(65'540) = 1;
    requests = {{RequestKind::remove_edge, 1, 2},       {RequestKind::remove_edge, 4, 131'080},
                {RequestKind::remove_node, 65'545, 0},  {RequestKind::insert_edge, 65'550, 139'000},
                {RequestKind::remove_node, 131'080, 0}, {RequestKind::insert_edge, 3, 5}};
  }
  const Importing sparse{"none", FeatureType::f32, three_spans};
  const auto streamed = [&](const fs::path& store) {
    Sample all = whole;
    import_sample(store, all, sparse);
    propagate_store(store, tiny_spec(2, false));
    stream_sample(store, all, requests, three_spans ? 3 : 7, three_spans ? 0 : 0.02);
  };
  const auto fresh = [&](const fs::path& store) {
    Sample rest = whole;
    for (const Request& request : requests) apply_naively(rest, request);
    import_sample(store, rest, sparse);
    propagate_store(store, tiny_spec(2, false));
  };
  return purge_of(three_spans ? "purge in steps, three spans" : "purge in steps", streamed, fresh, {.step_bytes = 1});
}

Setting purge_graphs_setting() {
  const GraphWorld world = graph_world(30, 5, 3);
  return purge_of_world<GraphWorld>("purge of whole graphs", world, changing_lines(world, 36, 4),
                                    [](GraphWorld& left, const std::string& line) { left.apply(line); });
}

Setting purge_pairs_setting() {
  const PairWorld world = pair_world(3, "valid=.2,test=.2,share=.5,apart");
  return purge_of_world<PairWorld>("purge of held edges", world, changing_lines(world.base, 36, 4, false),
                                   [](PairWorld& left, const std::string& line) { left.base.apply(line); });
}

Setting purge_model_setting() {
  const auto train = [](const fs::path& folder) {
    return command({"train", (folder / "s").string(), "--solver", "exact", "--seed", "1", "--memory", "64M"});
  };
  const auto contents_of = [](const Tree& tree) {
    Tree files = files_below(tree, "s/");
    std::erase_if(files, [](const auto& file) { return file.first.starts_with("certificates/"); });
    return files;
  };
  Setting setting;
  Sample rest = sample();
  const std::vector<Request> requests = random_requests(rest, 20, 8);
  setting.before = tree_after([&](const fs::path& folder) {
    Sample all = rest;
    import_sample(folder / "s", all, {});
    propagate_store(folder / "s", tiny_spec(2, false));
    train(folder);
    stream_sample(folder / "s", all, requests, 7, 0);
  });
  for (const Request& request : requests) apply_naively(rest, request);
  const Tree after = contents_of(tree_after([&](const fs::path& folder) {
    import_sample(folder / "s", rest, {});
    propagate_store(folder / "s", tiny_spec(2, false));
    train(folder);
  }));
  REQUIRE(after.contains("models/exact.model"));
  const auto work = [](const fs::path& folder) {
    WorkMeter nobody;
    const PurgeReport report = purge_store(folder / "s", {}, budget(), nobody);
    if (report.lost_models.empty() && report.uncertified_models.empty()) acknowledge("purged");
    return std::string();
  };
  const auto check = [=](const fs::path& folder, const std::vector<std::string>& acknowledged) -> std::string {
    const fs::path store = folder / "s", model = model_file(store, "exact");
    const bool purged = StoreReader(store, budget()).sequence() == 0;
    if (!purged && !acknowledged.empty()) return "an acknowledged purge is gone";
    const bool is_kept = fs::exists(model) && read_all(model) == after.at("models/exact.model");
    if (purged && !acknowledged.empty() && !is_kept) return "a kept model is another one";
    for (const ModelSummary& one : list_models(store))
      if (!one.damage.empty()) return one.damage;
    WorkMeter nobody;
    purge_store(store, {}, budget(), nobody);
    if (!fs::exists(model)) {
      if (!acknowledged.empty()) return "an acknowledged model is gone";
      train(folder);  // there was no room to bring it up to date
    }
    {
      StoreWriter live(store, budget());
      Learner learner = Learner::open(live, budget(), "exact", {false, "test", {}}, {});
      static_cast<void>(learner.catch_up());
      learner.settle();
      live.record();
    }
    static_cast<void>(tidied(store));
    const Tree files = contents_of(read_tree(folder));
    if (files != after) return "other files: " + names_of(files) + " instead of " + names_of(after);
    return findings_of(store);
  };
  setting.scenario = {"purge with a model", work, check, open_as_next_writer};
  return setting;
}

}  // namespace unweave::testing
