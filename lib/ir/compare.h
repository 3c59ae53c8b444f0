// Structural equality and content hashes: same graph, whatever the names, ids, metadata and order
// of unrelated instructions.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

struct CompareOptions {
  bool layout_sensitive = true;
  bool compare_names = false;
  bool compare_metadata = false;
  bool compare_sharding = true;
  bool compare_backend_config = true;
  bool compare_control_edges = true;
  bool compare_frontend_attributes = true;
};

bool StructurallyEqual(const Computation& a, const Computation& b,
                       const CompareOptions& options = {});
bool StructurallyEqual(const Module& a, const Module& b, const CompareOptions& options = {});
// Same opcode, shape, attributes, called computations (structurally); operands equal by identity.
bool SameOperation(const Instruction& a, const Instruction& b, const CompareOptions& options = {});

// As SameOperation, operands not looked at.
bool SameNode(const Instruction& a, const Instruction& b, const CompareOptions& options = {});

// Equal for structurally equal values (default options); deterministic across processes.
uint64_t ContentHash(const Computation& computation);
uint64_t ContentHash(const Module& module);

// The computations of Module::PostOrder, in that order, with their ContentHash; linear
// in the module.
std::vector<std::pair<Computation*, uint64_t>> ContentHashes(const Module& module);

// The computations of Module::PostOrder by number of instructions, then by content: equivalent
// modules list equivalent computations in the same order, however they were built.
std::vector<Computation*> ComputationsByContent(const Module& module);

}  // namespace hlo
