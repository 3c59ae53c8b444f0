#include "tools/fuzz/programs/rows.h"

#include <vector>

namespace hlo {
namespace {

std::vector<const GrowRow*> AllRowsByWeight() {
  std::vector<const GrowRow*> rows;
  for (const std::span<const GrowRow> table :
       {ElementwiseRows(), MovementRows(), ReductionRows(), IndexRows(), ContractionRows(),
        ControlRows(), IdiomRows(), DeviceRows(), DynamicRows(), CallRows()}) {
    for (const GrowRow& row : table) rows.insert(rows.end(), static_cast<size_t>(row.weight), &row);
  }
  return rows;
}

}  // namespace

const GrowRow& PickRow(FuzzRandom& random) {
  static const std::vector<const GrowRow*> kRows = AllRowsByWeight();
  return *random.Pick(kRows);
}

void GrowSome(Sketch& sketch, size_t count) {
  for (; count > 0; --count) PickRow(sketch.random()).grow(sketch);
}

}  // namespace hlo
