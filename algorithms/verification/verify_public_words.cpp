// algorithms/verification/verify_public_words.cpp - the words of each theorem. They are those of
// version 0.1, the first; a version that says something else adds its own beside them, so that
// lines of both are read.
#include "algorithms/verification/verify_public_words.h"

#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/learning/head.h"
#include "algorithms/unlearning/release.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kAnyChange =
    "any removed edges, nodes and features, any inserted edges, and every row that moved because of them";
constexpr std::string_view kEmptySlots = "null-row: a removed training row leaves its slot empty; covers ";

/// What a theorem has a line say, beside what all say.
struct TheoremWords {
  std::string mechanism, reference;
  bool over_slots = false;
  bool from_present_data = false;  ///< a release is a function of the present data alone, whatever came before
  bool independent = false;        ///< requests depend on no release
  std::string open;                ///< what it leaves open, or empty
};

/// Rows in their slots, as T2 and T4 compare them.
std::string slots_from_zero(const SolverOptions& options) {
  return present_rows(options) + " in their slots, none in the others; from W = 0, learning_epochs times ";
}

TheoremWords words_of(const std::string& theorem, const Json& line, const SolverOptions& options) {
  if (theorem == "T0")
    return {"the minimiser rounded to the grid, every rounding proved",
            present_objective(options) +
                "W* its minimiser; published: the multiple of the grid nearest to every coordinate of W*",
            false,
            true,
            false,
            {}};
  if (theorem == "T0'")
    return {"a network trained from a public start, every product of matrices exact",
            present_rows(options) +
                "; published: the weights that the program of T0' makes of them from its public start, bit for bit",
            false,
            true,
            false,
            {}};
  if (theorem == "T1") return {std::string(kOutputNoise.text), minimiser_with_noise(options), false, false, false, {}};
  if (theorem == "T2")
    return {"projected noisy SGD over fixed batches, Gaussian noise at every step",
            slots_from_zero(options) +
                "over the batches in their order: W <- P_R(W - step_size (G / batch_rows + strong_convexity W) + "
                "sqrt(2 step_size) sigma xi), G the batch's sum of gradients of sum_c l(z_i.w_c, y_ic), xi fresh "
                "standard normal; published: the last W",
            true,
            false,
            line.at("releases") == "this",
            "that the noise of a step is a floating-point number"};
  if (theorem == "T4")
    return {"discrete Gaussian noise on the last iterate of projected SGD over slots",
            slots_from_zero(options) +
                "so many steps as there are batches: W <- P_R(W - step_size (G / batch_rows + strong_convexity W)), G "
                "the sum of gradients of the rows' losses over a batch: sampling 0, the public batches in their order; "
                "else batch_rows slots drawn uniformly; published: the last W rounded to the grid, plus fresh discrete "
                "Gaussian noise of variance sigma^2 on every coordinate",
            true,
            false,
            line.at("terms").at("sampling") != 0.0,
            "iterates of the original run: they show removed rows without noise, and stay private"};
  throw CheckError(theorem + " is no theorem of public lines");
}

std::vector<std::string> not_covered(const TheoremWords& words, const std::string& theorem, const Json& line) {
  const bool later = line.at("releases") == "all-later";
  std::vector<std::string> out{"what an adaptive choice of requests reveals by itself",
                               "models published before the removal: withdraw them",
                               "records that remain: this is no differential privacy",
                               "an error in place of a release, the number of rows and of releases, running times"};
  for (const char* const choice : {"lambda", "weights"}) {
    const auto how = line.at("constants").at(choice).at("chosen").get<std::string>();
    if (how.starts_with("validation"))
      out.push_back(std::string("the choice of ") + choice + ": it was tuned on data (" + how + "), and stays");
  }
  if (words.independent) out.emplace_back("requests that were chosen after seeing a release and sent as non-adaptive");
  if (line.contains("composed"))
    out.emplace_back("several releases seen together at this epsilon: `composed` says at which k of them are");
  else if (!later)
    out.emplace_back("several releases seen together: each is compared with one retraining");
  else if (!words.from_present_data)
    out.emplace_back(
        "later releases of other models, which start from publications of their own: one log pays for itself");
  if (later && theorem == "T1")
    out.emplace_back("choices that depend on free memory: whether a later release keeps a preconditioner");
  if (!words.open.empty()) out.push_back(words.open);
  return out;
}

/// NAME-RELEASE-DIGITS, or nothing of a release that has no id.
bool is_release_id(const std::string& id) {
  if (id.empty()) return true;
  const auto all_of = [](std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
  };
  const std::size_t digest = id.rfind('-');
  const std::size_t number = digest == std::string::npos || digest == 0 ? std::string::npos : id.rfind('-', digest - 1);
  const std::string_view text = id;
  return number != std::string::npos && number > 0 && text.find(' ') == std::string_view::npos &&
         all_of(text.substr(number + 1, digest - number - 1), "0123456789") && text.size() - digest - 1 == 16 &&
         all_of(text.substr(digest + 1), "0123456789abcdef");
}

}  // namespace

void check_public_words(const Json& line) {
  const auto theorem = line.at("theorem").get<std::string>();
  const Json& constants = line.at("constants");
  SolverOptions options;
  const auto head = constants.at("head").at("value").get<std::string>();
  if ((theorem == "T0'") != (head == "mlp")) throw CheckError(theorem + " does not speak of a model of " + head);
  if (head != "mlp") options.head = parse_head(head);
  if (constants.contains("intercept")) options.intercept = constants.at("intercept").at("value").get<bool>();
  if (const auto at = constants.find("row_program"); at != constants.end()) {
    options.has_program = true;
    options.unit = unit_named(at->at("value").at("unit").get<std::string>()).value_or(RowUnit::node);
  }
  const TheoremWords words = words_of(theorem, line, options);
  const auto require = [&](const char* member, bool holds) {
    if (!holds) throw CheckError(std::string(member) + " is not in the words that " + theorem + " has in this program");
  };
  require("mechanism", line.at("mechanism") == words.mechanism);
  require("reference", line.at("reference") == words.reference);
  require("adjacency", line.at("adjacency") ==
                           (words.over_slots ? std::string(kEmptySlots) : "none needed: ") + std::string(kAnyChange));
  const auto releases = line.at("releases").get<std::string>(), requests = line.at("requests").get<std::string>();
  require("releases", releases == "all-later" || (releases == "this" && !words.from_present_data));
  require("releases", theorem != "T4" || releases == "this");
  require("requests", requests == "adaptive" || requests == "non-adaptive");
  const auto wanted = not_covered(words, theorem, line);
  const auto said = line.at("not_covered").get<std::vector<std::string>>();
  for (const std::string& text : wanted)
    if (std::find(said.begin(), said.end(), text) == said.end())
      throw CheckError(std::string("not_covered lacks what ").append(theorem).append(" leaves open: ").append(text));
  require("not_covered", said == wanted);
}

void check_withdrawn(const Json& line, std::string_view before) {
  const auto withdraw = line.at("withdraw").get<std::vector<std::string>>();
  if (!before.empty() && (withdraw.empty() || withdraw.back() != before))
    throw CheckError("withdraw does not end with the release before it, " + std::string(before));
  if (!std::all_of(withdraw.begin(), withdraw.end(), is_release_id))
    throw CheckError("withdraw has something that is no id of a release");
}

}  // namespace unweave
