// algorithms/random/normal_lanes.h - Box and Muller's transform of many uniform numbers, on the
// processor's vector extension.
#pragma once

#include <cstddef>

namespace unweave {

/// first[i] in (0, 1] and second[i] in [0, 1), uniform and independent, become two independent
/// standard normals: sqrt(-2 ln first) times cosine and sine of 2 pi (second - 1/2). Errors of a
/// few ulp. No overlap.
void normals_from_uniforms(double* first, double* second, std::size_t count);

}  // namespace unweave
