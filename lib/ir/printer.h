// HLO text, byte for byte as XLA prints it, with XLA's print options.
#pragma once

#include <string>

#include "lib/ir/module.h"

namespace hlo {

struct PrintOptions {
  enum class Subcomputations { kNames, kFullBodies, kNonSequentialBodies, kOff };
  bool large_constants = false;  // more than 10 elements
  bool only_essential_constants = false;
  Subcomputations subcomputations = Subcomputations::kNames;
  bool metadata = true;
  bool metadata_only_op_name = false;
  bool backend_config = true;
  bool infeed_outfeed_config = true;
  bool operand_shape = false;
  bool operand_names = true;
  int operand_index_interval = 5;  // `/*index=5*/` in operand lists; 0: off
  bool program_shape = true;
  bool percent = true;
  bool control_dependencies = true;
  bool result_shape = true;
  bool layouts = true;
  bool ids = true;
  bool canonical_instruction_names = false;
  bool canonical_computations = false;       // in the order of the module, not of their callers
  bool canonical_computation_names = false;  // by their place in the text
  bool extra_attributes = true;
  bool syntax_sugar_async_ops = true;
  // Where XLA's text does not read back as the same module (sugar for a wrapped computation that
  // mixes its operands, -0, names that are reserved words without `%`, quotes in a recovery table),
  // write one that does.
  bool lossless = false;
  bool compact_gte = false;
  bool full_replica_group_lists = false;
  bool replica_group_sub_axes = true;  // off: groups over parts of mesh axes print as lists
  bool compact_operands = false;
  bool sort_backend_config = false;
  bool channel_id = true;
  bool parameter_number = true;
  bool name_after_closing_brace = false;
  bool inline_stack_frames = false;
  bool in_nested_computation = false;  // computations without their names
  int indent = 0;                      // levels of two blanks

  static PrintOptions Default() { return {}; }
  static PrintOptions Long();  // Default with the shapes of operands
  static PrintOptions ShortParsable();
  static PrintOptions Canonical();
  static PrintOptions Fingerprint();
  static PrintOptions ModuleFingerprint();
  // What hlo-opt and module dumps print: Default without async sugar, with compact
  // get-tuple-elements.
  static PrintOptions HloOpt();
};

std::string ToText(const Module& module, const PrintOptions& options = PrintOptions::Default());
std::string ToText(const Computation& computation,
                   const PrintOptions& options = PrintOptions::Default());
std::string ToText(const Instruction& instruction,
                   const PrintOptions& options = PrintOptions::Default());

}  // namespace hlo
