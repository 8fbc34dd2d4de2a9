// algorithms/learning/network.cpp - shapes, where training starts, passes over all rows.
#include "algorithms/learning/network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "algorithms/learning/network_pass.h"
#include "algorithms/numerics/row_sweep.h"
#include "algorithms/random/counter_random.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"

namespace unweave {
namespace {

/// Adds body(pass, margins, first, count, part) over blocks of rows that went forward, for products
/// along `directions`.
template <class Part, class Body>
Part sweep(const NetworkPoint& point, const ChosenRows& rows, std::size_t directions, Part zero, const Body& body) {
  const auto place = [](std::size_t first, std::size_t) { return first; };
  return sweep_blocks<double>(rows.size(), pass_width(point.network, directions), std::move(zero), place,
                              [&](std::size_t first, std::size_t, std::size_t count, Part& part) {
                                NetworkPass pass(point, count);
                                double* const margins =
                                    pass.forward([&](std::size_t i) { return rows.row(first + i); });
                                body(pass, margins, first, count, part);
                              });
}

std::vector<ClassId> labels_of(const ChosenRows& rows, std::size_t first, std::size_t count) {
  std::vector<ClassId> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = rows.label(first + i);
  return labels;
}

}  // namespace

Activation parse_activation(std::string_view name) {
  constexpr std::array kAll{Activation::kTanh, Activation::kSmelu, Activation::kRelu};
  std::vector<std::string_view> names;
  for (const Activation one : kAll) {
    if (name == name_of(one)) return one;
    names.push_back(name_of(one));
  }
  throw UsageError(unknown_name("activation", name, names));
}

std::string_view name_of(Activation activation) noexcept {
  switch (activation) {
    case Activation::kTanh:
      return "tanh";
    case Activation::kSmelu:
      return "smelu";
    case Activation::kRelu:
      return "relu";
  }
  return {};
}

Network::Network(NetworkShape shape) : shape_(std::move(shape)) {
  if (shape_.hidden.size() > kMostHiddenLayers)
    throw UsageError("a model has at most " + std::to_string(kMostHiddenLayers) + " hidden layers");
  const auto check_width = [](std::size_t width, const char* what) {
    if (width == 0 || width > kWidestLayer)
      throw UsageError(std::string(what) + " of a model must be from 1 to " + std::to_string(kWidestLayer));
  };
  check_width(shape_.features, "the features");
  check_width(shape_.classes, "the classes");
  const bool bias = !shape_.hidden.empty();
  if (shape_.blocks == 0 || shape_.features % shape_.blocks != 0 || (filtered() && !bias))
    throw UsageError("the features of a model do not part into " + std::to_string(shape_.blocks) +
                     " blocks before a hidden layer");
  std::size_t first = 0, inputs = shape_.features / shape_.blocks;
  const auto add = [&](std::size_t outputs) {
    layers_.push_back({first, inputs, outputs, bias});
    first += layers_.back().size();
    inputs = outputs;
  };
  for (const std::size_t width : shape_.hidden) {
    check_width(width, "the width of a hidden layer");
    add(width);
  }
  add(shape_.classes);
}

Vector Network::initial(std::uint64_t key) const {
  Vector values = Vector::Zero(index_of(size()));
  if (shape_.hidden.empty()) return values;
  for (const Layer& layer : layers_) {
    const double deviation = layer.first == 0 ? 1 : 1 / std::sqrt(static_cast<double>(layer.inputs));
    for (std::size_t i = layer.first; i < layer.first + layer.inputs * layer.outputs; ++i)
      values[index_of(i)] = deviation * bits_to_deviate(random_bits(key, i));
  }
  if (filtered()) values[index_of(filter())] = std::sqrt(static_cast<double>(shape_.blocks));
  return values;
}

void Network::check(std::span<const double> at, const ChosenRows& rows) const {
  if (at.size() != size()) throw UsageError("the model has another number of parameters than its shape");
  if (rows.features() != shape_.features || rows.classes() != shape_.classes)
    throw UsageError("the rows have another number of features or classes than the model");
}

double Network::loss(std::span<const double> at, const ChosenRows& rows) const {
  check(at, rows);
  const NetworkPoint point(*this, at, false);
  return sweep(point, rows, 0, 0.0,
               [&](NetworkPass&, double* margins, std::size_t first, std::size_t count, double& sum) {
                 for (std::size_t i = 0; i < count; ++i)
                   sum += row_loss(shape_.head, margins + i * shape_.classes, shape_.classes, rows.label(first + i));
               });
}

Vector Network::gradient(std::span<const double> at, const ChosenRows& rows) const {
  check(at, rows);
  const NetworkPoint point(*this, at, true);
  return sweep(point, rows, 0, Vector(Vector::Zero(index_of(size()))),
               [&](NetworkPass& pass, double*, std::size_t first, std::size_t count, Vector& sum) {
                 pass.backward(labels_of(rows, first, count).data());
                 pass.add_gradient(sum.data());
               });
}

Vector Network::pull_back(std::span<const double> at, const ChosenRows& rows,
                          const std::function<void(std::size_t, double*)>& replace) const {
  check(at, rows);
  const NetworkPoint point(*this, at, true);
  return sweep(point, rows, 0, Vector(Vector::Zero(index_of(size()))),
               [&](NetworkPass& pass, double* margins, std::size_t first, std::size_t count, Vector& sum) {
                 for (std::size_t i = 0; i < count; ++i) replace(first + i, margins + i * shape_.classes);
                 pass.back();
                 pass.add_gradient(sum.data());
               });
}

Matrix Network::row_gradients(std::span<const double> at, const ChosenRows& rows) const {
  check(at, rows);
  const NetworkPoint point(*this, at, true);
  Matrix out(index_of(rows.size()), index_of(size()));
  parallel_ranges(0, rows.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      NetworkPass pass(point, 1);
      static_cast<void>(pass.forward([&](std::size_t) { return rows.row(i); }));
      const ClassId label = rows.label(i);
      pass.backward(&label);
      pass.row_gradients(out.row(index_of(i)).data());
    }
  });
  return out;
}

void Network::add_hessian_products(std::span<const double> at, const ChosenRows& rows,
                                   const NetworkDirections& directions, HessianSums& sums) const {
  check(at, rows);
  if (directions.count() == 0) return;
  const NetworkPoint point(*this, at, true);
  const std::size_t most = cut_rows(rows.size(), pass_width(*this, directions.count())).block_rows;
  for (std::size_t first = 0; first < rows.size(); first += most) {
    const std::size_t count = std::min(most, rows.size() - first);
    NetworkPass pass(point, count);
    static_cast<void>(pass.forward([&](std::size_t i) { return rows.row(first + i); }));
    pass.backward(labels_of(rows, first, count).data());
    pass.add_products(directions, sums);
  }
}

Vector Network::hessian_product(std::span<const double> at, const ChosenRows& rows,
                                std::span<const double> direction) const {
  check(at, rows);
  if (direction.size() != size()) throw UsageError("a direction has another number of parameters than the model");
  const NetworkPoint point(*this, at, true);
  NetworkDirections alone(*this, 1);
  alone.add(0, direction);
  const HessianSums sums =
      sweep(point, rows, 1, HessianSums(*this, 1),
            [&](NetworkPass& pass, double*, std::size_t first, std::size_t count, HessianSums& part) {
              pass.backward(labels_of(rows, first, count).data());
              pass.add_products(alone, part);
            });
  return sums.get(0);
}

void Network::margins(std::span<const double> at, const float* rows, std::size_t count, double* out) const {
  if (at.size() != size()) throw UsageError("the model has another number of parameters than its shape");
  if (count == 0) return;
  const NetworkPoint point(*this, at, false);
  NetworkPass pass(point, count);
  const double* const found = pass.forward([&](std::size_t i) { return rows + i * shape_.features; });
  std::copy_n(found, count * shape_.classes, out);
}

}  // namespace unweave
