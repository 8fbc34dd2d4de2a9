// algorithms/evaluation/membership.cpp - membership attacks: a support vector machine of LIBSVM, a
// fit of two parameters, a threshold.
#include "algorithms/evaluation/membership.h"

#include <libsvm/svm.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "algorithms/numerics/matrix.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kMember = 1, kOther = 0;
constexpr int kMostSteps = 100;
constexpr double kShortest = 1e-6;  // part of a step that is still tried
constexpr int kCacheMiB = 200;      // for rows of the kernel, float32

/// A row as LIBSVM wants it: its only feature, and the end.
std::array<svm_node, 2> node_of(double confidence) {
  return {svm_node{1, confidence}, svm_node{-1, 0}};
}

svm_parameter parameters() {
  svm_parameter p{};
  p.svm_type = C_SVC;
  p.kernel_type = RBF;
  p.gamma = 1;
  p.C = 3;
  p.cache_size = kCacheMiB;
  p.eps = 1e-3;
  p.shrinking = 1;
  return p;
}

void require_rows(std::span<const double> members, std::span<const double> others) {
  if (members.empty() || others.empty()) throw UsageError("an attack learns from members and from others");
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

ConfidenceAttack::ConfidenceAttack(std::span<const double> members, std::span<const double> others)
    : data_(std::make_unique<Data>()) {
  require_rows(members, others);
  for (const double confidence : members) data_->nodes.push_back(node_of(confidence));
  for (const double confidence : others) data_->nodes.push_back(node_of(confidence));
  for (auto& node : data_->nodes) data_->rows.push_back(node.data());
  data_->labels.assign(members.size(), kMember);
  data_->labels.resize(data_->rows.size(), kOther);
  const svm_problem problem{static_cast<int>(data_->rows.size()), data_->labels.data(), data_->rows.data()};
  const svm_parameter how = parameters();
  svm_set_print_string_function([](const char*) {});
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

PresenceAttack::PresenceAttack(std::span<const double> members, std::span<const double> others) {
  require_rows(members, others);
  const auto in = static_cast<double>(members.size()), out = static_cast<double>(others.size());
  Eigen::ArrayXd x(index_of(members.size() + others.size())), target(x.size());
  std::copy(members.begin(), members.end(), x.begin());
  std::copy(others.begin(), others.end(), x.begin() + static_cast<std::ptrdiff_t>(members.size()));
  target << Eigen::ArrayXd::Constant(index_of(members.size()), (in + 1) / (in + 2)),
      Eigen::ArrayXd::Constant(index_of(others.size()), 1 / (out + 2));
  const double center = x.mean(), deviation = std::sqrt((x - center).square().mean());
  const double spread = deviation > 0 ? deviation : 1;
  x = (x - center) / spread;
  const auto loss = [&](const Eigen::Vector2d& w) {
    const Eigen::ArrayXd m = w[0] * x + w[1];
    return (m.max(0) - target * m + (-m.abs()).exp().log1p()).sum();
  };
  // Newton's method; kRidge keeps the Hessian regular where all confidences are alike.
  constexpr double kRidge = 1e-9, kGradient = 1e-9;
  Eigen::Vector2d w = Eigen::Vector2d::Zero();
  for (int step = 0; step < kMostSteps; ++step) {
    const Eigen::ArrayXd p = 1 / (1 + (-(w[0] * x + w[1])).exp());
    const Eigen::ArrayXd slope = p - target, curvature = p * (1 - p);
    const Eigen::Vector2d gradient((slope * x).sum(), slope.sum());
    if (gradient.norm() <= kGradient * (in + out)) break;
    Eigen::Matrix2d hessian;
    hessian << (curvature * x * x).sum(), (curvature * x).sum(), (curvature * x).sum(), curvature.sum();
    hessian.diagonal().array() += kRidge * (in + out);
    const Eigen::Vector2d way = -hessian.ldlt().solve(gradient);
    double length = 1;
    while (length > kShortest && loss(w + length * way) > loss(w)) length /= 2;
    w += length * way;
  }
  slope_ = w[0] / spread;
  offset_ = w[1] - slope_ * center;
}

double PresenceAttack::presence(double confidence) const noexcept {
  return 1 / (1 + std::exp(-(slope_ * confidence + offset_)));
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
  double sum = 0;  // a sum of halves, exact below 2^52
  for (const double value : first) {
    const auto [low, high] = std::equal_range(below.begin(), below.end(), value);
    sum += static_cast<double>(low - below.begin()) + static_cast<double>(high - low) / 2;
  }
  return sum / (static_cast<double>(first.size()) * static_cast<double>(second.size()));
}

}  // namespace unweave
