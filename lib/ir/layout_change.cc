#include "lib/ir/layout_change.h"

#include "lib/ir/custom_call.h"
#include "lib/ops/opcode_set.h"

namespace hlo {
namespace {

constexpr OpcodeSet kMayChangeLayout({Opcode::kAsyncStart,
                                      Opcode::kAsyncUpdate,
                                      Opcode::kAsyncDone,
                                      Opcode::kBatchNormGrad,
                                      Opcode::kBatchNormInference,
                                      Opcode::kBatchNormTraining,
                                      Opcode::kBitcast,
                                      Opcode::kBroadcast,
                                      Opcode::kCall,
                                      Opcode::kCollectivePermuteStart,
                                      Opcode::kCollectivePermuteDone,
                                      Opcode::kConditional,
                                      Opcode::kConstant,
                                      Opcode::kConvolution,
                                      Opcode::kCopy,
                                      Opcode::kCopyStart,
                                      Opcode::kCopyDone,
                                      Opcode::kCustomCall,
                                      Opcode::kDomain,
                                      Opcode::kDot,
                                      Opcode::kDynamicReshape,
                                      Opcode::kFusion,
                                      Opcode::kGather,
                                      Opcode::kGetDimensionSize,
                                      Opcode::kGetTupleElement,
                                      Opcode::kInfeed,
                                      Opcode::kIota,
                                      Opcode::kOutfeed,
                                      Opcode::kParameter,
                                      Opcode::kPartitionId,
                                      Opcode::kRaggedDot,
                                      Opcode::kRecv,
                                      Opcode::kRecvDone,
                                      Opcode::kReduce,
                                      Opcode::kReplicaId,
                                      Opcode::kReshape,
                                      Opcode::kRng,
                                      Opcode::kRngBitGenerator,
                                      Opcode::kRngGetAndUpdateState,
                                      Opcode::kScaledDot,
                                      Opcode::kSend,
                                      Opcode::kSendDone,
                                      Opcode::kAfterAll,
                                      Opcode::kTranspose,
                                      Opcode::kTuple});

}  // namespace

bool MayChangeLayout(const Instruction& instruction) {
  return kMayChangeLayout.Has(instruction.opcode()) &&
         !IsCustomCall(instruction, "LayoutConstraint");
}

}  // namespace hlo
