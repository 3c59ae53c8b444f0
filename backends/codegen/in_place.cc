#include "backends/codegen/in_place.h"

#include <algorithm>

#include "backends/codegen/kernel_frame.h"
#include "lib/types/shape_util.h"

namespace hlo {

bool Contains(const BufferPairs& pairs, const BufferPair& pair) {
  return std::find(pairs.begin(), pairs.end(), pair) != pairs.end();
}

BufferPairs WantsToShare(const Instruction& fusion) {
  const Instruction* const root = RootOf(fusion);
  const bool is_update = root->opcode() == Opcode::kDynamicUpdateSlice;
  if (!is_update && root->opcode() != Opcode::kScatter) return {};
  const int updated = is_update ? 1 : (root->operand_count() - 1) / 2;
  BufferPairs pairs;
  for (int k = 0; k < updated; ++k) {
    const Instruction* const operand = root->operand(k);
    int position = k;
    if (fusion.IsFusion()) {
      // What else the kernel reads from the buffer might already be overwritten.
      if (operand->opcode() != Opcode::kParameter || operand->use_count() != 1) return {};
      position = static_cast<int>(operand->parameter_number());
      for (int i = 0; i < fusion.operand_count(); ++i) {
        if (i != position && fusion.operand(i) == fusion.operand(position)) return {};
      }
    } else {
      for (int i = 0; i < root->operand_count(); ++i) {
        if (i != k && root->operand(i) == operand) return {};
      }
    }
    int leaf = 0;
    for (int i = 0; i < position; ++i)
      leaf += static_cast<int>(LeafCount(fusion.operand(i)->shape()));
    pairs.push_back({leaf, k});
  }
  return pairs;
}

bool SharesWanted(const Instruction& fusion, const BufferPairs& shared) {
  const BufferPairs wanted = WantsToShare(fusion);
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [&](const BufferPair& pair) {
    return Contains(shared, pair);
  });
}

BufferPairs SharedPairs(const Instruction& instruction, const BufferAssignment& buffers) {
  const std::vector<BufferSlice> results = buffers.slices(instruction);
  BufferPairs pairs;
  for (int o = 0; o < instruction.operand_count(); ++o) {
    const std::vector<BufferSlice> operand = buffers.slices(*instruction.operand(o));
    for (size_t r = 0; r < results.size(); ++r) {
      if (operand.size() == 1 && operand[0].allocation >= 0 && operand[0] == results[r])
        pairs.push_back({o, static_cast<int>(r)});
    }
  }
  return pairs;
}

}  // namespace hlo
