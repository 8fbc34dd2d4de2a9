#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph.h"
#include "engine/memory.h"
#include "engine/work_meter.h"
namespace unweave {
std::string trial_names();
bool is_trial(std::string_view name);
std::vector<NodeId> trial_order(std::string_view name, const Graph& graph, MemoryBudget& budget, WorkMeter& meter);
}  // namespace unweave
