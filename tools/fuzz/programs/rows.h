// The table of what a random program may grow: each row adds one operation, or one idiom of
// several, to a sketch. A row that finds nothing to work on adds nothing.
#pragma once

#include <span>
#include <string_view>

#include "tools/fuzz/programs/sketch.h"

namespace hlo {

struct GrowRow {
  std::string_view name;
  int weight;  // how often, compared with the others
  void (*grow)(Sketch&);
};

// One table for each file grow_<family>.cc.
std::span<const GrowRow> ElementwiseRows();
std::span<const GrowRow> MovementRows();
std::span<const GrowRow> ReductionRows();
std::span<const GrowRow> IndexRows();
std::span<const GrowRow> ContractionRows();
std::span<const GrowRow> ControlRows();
std::span<const GrowRow> IdiomRows();
std::span<const GrowRow> DeviceRows();
std::span<const GrowRow> DynamicRows();
std::span<const GrowRow> CallRows();

// Any row of all tables, by weight.
const GrowRow& PickRow(FuzzRandom& random);

// Adds `count` random rows.
void GrowSome(Sketch& sketch, size_t count);

}  // namespace hlo
