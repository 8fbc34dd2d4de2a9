// tools/commands/propagation_options.cpp - the options of a propagation.
#include "tools/commands/propagation_options.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/nearest_name.h"
#include "unweave/fields/ingest.h"

namespace unweave {

void add_propagation_options(CommandLine& line) {
  auto add = line.options().add_options();
  add("hops", po::value<Count>()->value_name("L")->default_value({kDefaultHops}), "levels, 0 to 1000");
  add("weights", po::value<RealList>()->value_name("W"), "L + 1 numbers, such as 0,0,1; readers may use others");
  add("scheme", po::value<std::string>()->value_name("S"),
      "sgc (default: w_L = 1), ppr:A (w_l = A (1-A)^l, w_L = (1-A)^L), heat:T (w_l = e^-T T^l / l!), gpr with --weights, "
      "or chebyshev: blocks T_k(-P) X / sqrt(L+1), k = 0 .. L side by side, a filter to learn");
  add("rho", po::value<Real>()->value_name("R")->default_value({0.5}),
      "P = D^-R A D^(R-1), 0 to 1; 1: mean of neighbours");
  add("scale-bits", po::value<Count>()->value_name("B")->default_value({24}),
      "fixed point: integers over 2^B, 8 to 29; without it 28 for chebyshev; up to 14, levels pass on 16-bit numbers");
  line.set_choices("rows", {"all", "labelled"});
  add("rows", po::value<std::string>()->value_name("WHICH"), "all or labelled (default with labels, no links)");
  line.set_choices("keep", {"state", "embedding", "hops"});
  add("keep", po::value<std::string>()->value_name("WHAT"), "state (default), embedding (rows of Z) or hops (P^l X)");
  line.set_choices("keep-type", {"f32", "f16"});
  add("keep-type", po::value<FeatureTypeName>()->value_name("T"), "of these rows: f32 (default) or f16");
  add("keep-exponent", po::value<Real>()->value_name("E"), "of f16: keeps values times 2^E, -64 to 64 (default 0)");
}

namespace {

void read_kept_form(const CommandLine& line, KeptForm& kept) {
  if (line.has("keep")) {
    const auto& name = line.get<std::string>("keep");
    const auto keep = keep_named(name);
    if (!keep)
      throw UsageError("--keep must be state, embedding or hops" +
                       did_you_mean(name, std::array<std::string_view, 3>{"state", "embedding", "hops"}));
    kept.keep = *keep;
  }
  for (const char* const option : {"keep-type", "keep-exponent"})
    if (kept.has_sums() && line.has(option))
      throw UsageError("--" + std::string(option) + " needs --keep embedding or --keep hops");
  if (line.has("keep-type")) kept.type = line.get<FeatureTypeName>("keep-type").value;
  if (!line.has("keep-exponent")) return;
  const double exponent = line.get<Real>("keep-exponent").value;
  if (exponent != std::floor(exponent) || std::abs(exponent) > kMostKeptExponent)
    throw UsageError("--keep-exponent must be a whole number from -64 to 64");
  if (kept.type == FeatureType::f32) throw UsageError("--keep-exponent needs --keep-type f16");
  kept.exponent = static_cast<std::int32_t>(exponent);
}

}  // namespace

PropagationSpec read_propagation_spec(const CommandLine& line, bool labelled_rows) {
  PropagationSpec spec;
  const std::uint64_t hops = line.get<Count>("hops").value;
  if (hops > 1000) throw UsageError("--hops: at most 1000");
  spec.levels = static_cast<std::uint32_t>(hops);
  const std::vector<double> weights =
      line.has("weights") ? line.get<RealList>("weights").values : std::vector<double>();
  const std::string scheme = line.has("scheme") ? line.get<std::string>("scheme") : std::string();
  spec.weights = scheme_weights(scheme, spec.levels, weights);
  spec.scheme = !weights.empty() ? "gpr" : scheme.empty() ? "sgc" : scheme;
  spec.rho = line.get<Real>("rho").value;
  const std::uint64_t bits = line.get<Count>("scale-bits").value;
  if (bits > 29) throw UsageError("--scale-bits must lie between 8 and 29");
  spec.scale_bits = static_cast<std::uint32_t>(bits);
  if (spec.scheme == "chebyshev" && spec.scale_bits < kLeastChebyshevBits) {
    if (line.given("scale-bits"))
      throw UsageError("--scheme chebyshev needs --scale-bits of at least " + std::to_string(kLeastChebyshevBits));
    spec.scale_bits = kLeastChebyshevBits;
  }
  spec.all_rows = !labelled_rows;
  if (line.has("rows")) {
    const auto& rows = line.get<std::string>("rows");
    if (rows != "all" && rows != "labelled")
      throw UsageError("--rows must be all or labelled" +
                       did_you_mean(rows, std::array<std::string_view, 2>{"all", "labelled"}));
    spec.all_rows = rows == "all";
  }
  read_kept_form(line, spec.kept);
  return spec;
}

}  // namespace unweave
