// Which modules a check runs at all: small ones whose results depend on nothing but their inputs.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// Too many instructions, or an array too large, to be run thousands of times.
bool IsLarge(const Module& module);
// Random numbers that depend on more than the program says: a state that outlives a run, and draws
// in computations, which come in the order of the calls, and that is free.
bool KeepsRandomState(const Module& module);
// Random numbers in what is called from several places: in which order, and whether where nobody
// reads them, is free.
bool DrawsWhereSeveralCall(const Module& module);
// Devices draw numbers of their own; of one program, divided, all have the same.
bool DrawsOnSeveralDevices(const Module& module);
// Sizes of groups that are negative or add up to too much mean nothing, and random ones are: only
// constants that fit are none of these.
bool TakesGroupSizes(const Module& module);
// A reduction or scatter whose region gives something else in another order of the elements, which
// platforms with threads are free to choose.
bool DependsOnOrder(const Module& module);
// Floats under 16 bits, of which a rounding that is left out shows in the first digit.
bool HoldsNarrowestFloats(const Module& module);
// Those, or a constant that is no finite number.
bool HoldsFewNumbers(const Module& module);
// A sort by an order that NaNs have no place in, of a type in which 0 is one: each platform may put
// them elsewhere, and what comes out of an iota is moved by no noise.
bool SortsScales(const Module& module);
// A collective whose region is of another type than what it combines: which roundings that makes,
// nobody says.
bool CombinesInOtherTypes(const Module& module);
// Several quotients of such floats: a quotient of quotients is that of two products, which they may
// be too narrow to hold. Or one by a broadcast, which becomes a product with its inverse, rounded.
bool HoldsNarrowestQuotients(const Module& module);
// A dot whose algorithm rounds its operands first. The interpreter does not, as XLA:CPU: what makes
// the roundings explicit has other results.
bool AsksForRoundedOperands(const Module& module);
// A dot of operands of different types, or that yields powers of two alone, or f8 that does not
// hold its operands: as XLA's, what gives them one type rounds some.
bool MixesTypesInDots(const Module& module);
// A sort by what is no order, in which it matters what is compared with what.
bool SortsByNoOrder(const Module& module);
// A library's convolution yields s8: as XLA's, one that yields the next type does not clamp.
bool ConvolvesToS8(const Module& module);
// A reduction of floats under 32 bits.
bool ReducesNarrowFloats(const Module& module);
// One with a tuple for its result, which rounds after each step.
bool ReducesNarrowTuples(const Module& module);
// Products whose sums are rounded to a byte of a float at most, or from floats to integers: the
// parts of a sum, each rounded, make another one.
bool RoundsProducts(const Module& module);
// What stands after the end of a dynamic array shows: it is read, grows back, is declared static,
// or is reduced by more than one operation. The interpreter has zeros there, if anything.
bool ReadsAfterEnds(const Module& module);
// An operation whose result is declared dynamic though nothing that it reads is.
bool DeclaresSizes(const Module& module);
// Of the above, what gives each platform the right to a result of its own.
bool DependsOnPlatform(const Module& module);
// An eigendecomposition that stops after few sweeps, or early, has what its algorithm has then.
bool StopsBeforeEigenvalues(const Module& module);
// A loop that says how often it runs where nothing shows that it does: passes believe it, and an
// edit may have made it wrong.
bool DeclaresTrips(const Module& module);
// A loop carries what is under way, and nobody ends it, or more than one does; or it ends on
// another channel. This is no program, but a verifier does not follow what loops and tuples carry.
bool MislaysWhatIsUnderWay(const Module& module);
bool RunsOnSeveralDevices(const Module& module);
// Groups of collectives with devices that the module does not run on.
bool NamesAbsentDevices(const Module& module);
// Takes the marks from loops that nobody reads: the interpreter runs what somebody reads, and
// notices there that a loop does not end. One that only a mark keeps may never do so.
void DropMarksOfLoops(Module& module);

}  // namespace hlo
