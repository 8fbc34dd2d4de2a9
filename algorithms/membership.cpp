// algorithms/membership.cpp - the machine is LIBSVM's; the rest is sorting.
#include "algorithms/membership.h"

#include <libsvm/svm.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <vector>

#include "storage/error.h"

namespace unweave {
namespace {

constexpr double kMember = 1, kOther = 0;
constexpr int kCacheMiB = 200;  // of rows of the kernel, float32

/// A row as LIBSVM wants it: its only feature, and the end.
std::array<svm_node, 2> node_of(double confidence) {
  return {svm_node{1, confidence}, svm_node{-1, 0}};
}

svm_parameter parameters(bool probability) {
  svm_parameter p{};
  p.svm_type = C_SVC;
  p.kernel_type = RBF;
  p.gamma = 1;
  p.C = 3;
  p.cache_size = kCacheMiB;
  p.eps = 1e-3;
  p.shrinking = 1;
  p.probability = probability ? 1 : 0;
  return p;
}

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

}  // namespace

struct ConfidenceAttack::Data {
  std::vector<std::array<svm_node, 2>> nodes;
  std::vector<svm_node*> rows;
  std::vector<double> labels;
};

ConfidenceAttack::ConfidenceAttack(std::span<const double> members, std::span<const double> others, bool probability,
                                   std::uint64_t seed)
    : data_(std::make_unique<Data>()) {
  if (members.empty() || others.empty()) throw UsageError("an attack learns from members and from others");
  for (const double confidence : members) data_->nodes.push_back(node_of(confidence));
  for (const double confidence : others) data_->nodes.push_back(node_of(confidence));
  for (auto& node : data_->nodes) data_->rows.push_back(node.data());
  data_->labels.assign(members.size(), kMember);
  data_->labels.resize(data_->rows.size(), kOther);
  const svm_problem problem{static_cast<int>(data_->rows.size()), data_->labels.data(), data_->rows.data()};
  const svm_parameter how = parameters(probability);
  svm_set_print_string_function([](const char*) {});
  std::srand(static_cast<unsigned>(seed));  // LIBSVM draws the parts with rand()
  model_ = svm_train(&problem, &how);
}

std::uint64_t ConfidenceAttack::bytes(std::uint64_t rows) noexcept {
  constexpr std::uint64_t kBytesOfRow = 128;
  return std::min<std::uint64_t>(std::uint64_t{kCacheMiB} << 20, rows * rows * sizeof(float)) + rows * kBytesOfRow;
}

ConfidenceAttack::~ConfidenceAttack() {
  svm_free_and_destroy_model(&model_);
}

bool ConfidenceAttack::is_member(double confidence) const {
  return svm_predict(model_, node_of(confidence).data()) == kMember;
}

double ConfidenceAttack::presence(double confidence) const {
  std::array<double, 2> probabilities{};
  svm_predict_probability(model_, node_of(confidence).data(), probabilities.data());
  return probabilities[0];  // of the label that was seen first
}

double best_threshold(std::span<const double> members, std::span<const double> others) {
  const std::vector<double> in = sorted(members), out = sorted(others);
  const auto members_above = [&](double t) {
    return static_cast<double>(in.end() - std::upper_bound(in.begin(), in.end(), t)) / static_cast<double>(in.size());
  };
  const auto others_below = [&](double t) {
    return static_cast<double>(std::upper_bound(out.begin(), out.end(), t) - out.begin()) /
           static_cast<double>(out.size());
  };
  std::vector<double> all(in.size() + out.size());
  std::merge(in.begin(), in.end(), out.begin(), out.end(), all.begin());
  double best = -std::numeric_limits<double>::infinity(), most = 1;  // all are called members
  for (const double t : all) {
    const double right = members_above(t) + others_below(t);
    if (right <= most) continue;
    most = right;
    best = t;
  }
  return best;
}

std::optional<double> area_under_curve(std::span<const double> first, std::span<const double> second) {
  if (first.empty() || second.empty()) return std::nullopt;
  const std::vector<double> below = sorted(second);
  double sum = 0;  // of halves, exact below 2^52
  for (const double value : first) {
    const auto [low, high] = std::equal_range(below.begin(), below.end(), value);
    sum += static_cast<double>(low - below.begin()) + static_cast<double>(high - low) / 2;
  }
  return sum / (static_cast<double>(first.size()) * static_cast<double>(second.size()));
}

}  // namespace unweave
