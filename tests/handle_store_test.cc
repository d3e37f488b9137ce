// SPDX-License-Identifier: Apache-2.0
#include "pool/handle_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace hip_stream_pool {
namespace {

using AddResult = HandleStore::AddResult;
using ClaimState = HandleStore::ClaimState;
using ParkResult = HandleStore::ParkResult;
using Ticket = HandleStore::Ticket;

const StreamKey kPlain{0, 0, 0};
const StreamKey kUrgent{0, 0, -1};
const StreamKey kNonBlocking{0, 1, 0};
constexpr int kNoLimit = 1 << 20;

struct HasCounters {
  Counters counters;
};

// A store, and what it counts.
class Store : private HasCounters, public HandleStore {
 public:
  Store() : HandleStore(counters) {}

  StreamCacheStats Stats() const {
    StreamCacheStats stats;
    counters.AddTo(stats);
    return stats;
  }
  // Claims the earliest created of those parked.
  Ticket Take(const StreamKey& key) {
    Acquired acquired;
    return Acquire(key, &acquired) ? Undo(acquired) : Ticket();
  }
};

HandleStore::Handle Handle(uintptr_t value) {
  return reinterpret_cast<HandleStore::Handle>(value);
}

// Enters a new handle, leased.
AddResult AddLeased(HandleStore& store, uintptr_t value,
                    const StreamKey& key = kPlain, uint64_t identity = 0) {
  Ticket ticket;
  const AddResult result = store.Add(Handle(value), key, identity, &ticket);
  if (ticket) {
    EXPECT_NE(store.Lease(ticket, /*is_hit=*/false), 0u);
  }
  return result;
}

void Park(HandleStore& store, uintptr_t value) {
  HandleStore::ClaimResult claim = store.Claim(Handle(value));
  ASSERT_EQ(claim.state, ClaimState::kClaimed);
  ASSERT_EQ(store.Park(claim.ticket, kNoLimit), ParkResult::kParked);
}

TEST(HandleStoreTest, LeasesNothingBeforeSomethingIsParked) {
  Store store;
  EXPECT_FALSE(store.Take(kPlain));
  AddLeased(store, 16);
  EXPECT_FALSE(store.Take(kPlain));
}

TEST(HandleStoreTest, TakesTheEarliestCreatedFirstWhateverTheOrderOfParking) {
  Store store;
  std::vector<uintptr_t> created = {64, 16, 80, 32, 48};
  for (uintptr_t h : created) AddLeased(store, h);
  std::vector<uintptr_t> parked = created;
  std::sort(parked.begin(), parked.end());
  do {
    for (uintptr_t h : parked) Park(store, h);
    for (uintptr_t h : created) {
      const Ticket ticket = store.Take(kPlain);
      ASSERT_EQ(ticket.handle(), Handle(h));
      ASSERT_NE(store.Lease(ticket, /*is_hit=*/true), 0u);
    }
  } while (std::next_permutation(parked.begin(), parked.end()));
}

TEST(HandleStoreTest, WhatWasTakenAsideGoesBackToItsPlace) {
  Store store;
  for (uintptr_t h : {16, 32, 48}) AddLeased(store, h);
  for (uintptr_t h : {48, 16, 32}) Park(store, h);
  for (int i = 0; i < 2; ++i) {
    std::vector<Ticket> taken;
    while (const Ticket ticket = store.Take(kPlain)) taken.push_back(ticket);
    ASSERT_EQ(taken.size(), 3u);
    for (size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(taken[j].handle(), Handle(16 * (j + 1)));
    }
    for (size_t j : {2, 0, 1}) store.PutBack(taken[j]);
  }
  EXPECT_EQ(store.Stats().parked_now, 3);
}

// No step takes longer for the number of parked handles, in whatever order they
// come.
TEST(HandleStoreTest, AHundredThousandHandlesAreParkedAndTakenInAMoment) {
  constexpr uintptr_t kHandles = 100000;
  Store store;
  for (uintptr_t h = 1; h <= kHandles; ++h) AddLeased(store, h);
  const auto start = std::chrono::steady_clock::now();
  for (uintptr_t h = 1; h <= kHandles; ++h) Park(store, h);
  for (uintptr_t h = 1; h <= kHandles; ++h) {
    HandleStore::Acquired acquired;
    ASSERT_TRUE(store.Acquire(kPlain, &acquired));
    ASSERT_EQ(acquired.handle, Handle(h));
  }
  // A sorted insert at the front takes seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(HandleStoreTest, KeepsKeysApart) {
  Store store;
  AddLeased(store, 16, kPlain);
  AddLeased(store, 32, kUrgent);
  AddLeased(store, 48, kNonBlocking);
  for (uintptr_t h : {16, 32, 48}) Park(store, h);
  EXPECT_EQ(store.Take(kUrgent).handle(), Handle(32));
  EXPECT_EQ(store.Take(kNonBlocking).handle(), Handle(48));
  EXPECT_FALSE(store.Take(kUrgent));
  EXPECT_EQ(store.ParkedOf(kPlain), 1);
  EXPECT_EQ(store.ParkedOf(kUrgent), 0);
}

TEST(HandleStoreTest, TellsApartWhatCanBeClaimed) {
  Store store;
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kUnknown);
  AddLeased(store, 16);
  HandleStore::ClaimResult claim = store.Claim(Handle(16));
  EXPECT_EQ(claim.state, ClaimState::kClaimed);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kParked) << "claimed";
  store.Park(claim.ticket, kNoLimit);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kParked) << "parked";
  const Ticket taken = store.Take(kPlain);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kParked)
      << "its last owner destroys it a second time";
  EXPECT_NE(store.Lease(taken, /*is_hit=*/true), 0u);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kClaimed);
}

TEST(HandleStoreTest, ALeaseThatHasEndedClaimsNothing) {
  Store store;
  Ticket ticket;
  store.Add(Handle(16), kPlain, 0, &ticket);
  const uint64_t first = store.Lease(ticket, /*is_hit=*/false);
  EXPECT_TRUE(store.IsLeased(Handle(16), first));
  store.Park(store.Claim(Handle(16), first).ticket, kNoLimit);
  EXPECT_FALSE(store.IsLeased(Handle(16), first));
  const uint64_t second = store.Lease(store.Take(kPlain), /*is_hit=*/true);
  EXPECT_NE(first, second);
  EXPECT_FALSE(store.IsLeased(Handle(16), first));
  EXPECT_EQ(store.Claim(Handle(16), first).state, ClaimState::kInvalidated);
  EXPECT_EQ(store.Claim(Handle(16), second).state, ClaimState::kClaimed);
}

TEST(HandleStoreTest, ParksUpToTheLimitOfEachKey) {
  Store store;
  for (uintptr_t h : {16, 32, 48}) AddLeased(store, h);
  AddLeased(store, 64, kUrgent);
  const auto park = [&](uintptr_t h, int limit) {
    Ticket ticket = store.Claim(Handle(h)).ticket;
    ParkResult result = store.Park(ticket, limit);
    if (result == ParkResult::kOverLimit) {
      EXPECT_TRUE(store.Remove(ticket)) << "the ticket stays good";
    }
    return result;
  };
  EXPECT_EQ(park(16, 2), ParkResult::kParked);
  EXPECT_EQ(park(32, 2), ParkResult::kParked);
  EXPECT_EQ(park(48, 2), ParkResult::kOverLimit);
  EXPECT_EQ(park(64, 2), ParkResult::kParked);
  EXPECT_EQ(store.Claim(Handle(48)).state, ClaimState::kUnknown);
  AddLeased(store, 80);
  EXPECT_EQ(park(80, 0), ParkResult::kOverLimit);
}

TEST(HandleStoreTest, ATicketWorksOnce) {
  Store store;
  AddLeased(store, 16);
  Ticket ticket = store.Claim(Handle(16)).ticket;
  EXPECT_EQ(store.Park(ticket, kNoLimit), ParkResult::kParked);
  EXPECT_EQ(store.Park(ticket, kNoLimit), ParkResult::kForgotten);
  EXPECT_FALSE(store.Remove(ticket));
  store.PutBack(ticket);
  EXPECT_EQ(store.Lease(ticket, /*is_hit=*/true), 0u);
  EXPECT_EQ(store.Stats().parked_now, 1);
  EXPECT_EQ(store.Take(kPlain).handle(), Handle(16));
  EXPECT_FALSE(store.Take(kPlain));
}

TEST(HandleStoreTest, WhatIsAcquiredIsAHitUnlessItIsUndone) {
  Store store;
  AddLeased(store, 16);
  EXPECT_EQ(store.Stats().hits, 0) << "it is new";
  Park(store, 16);
  HandleStore::Acquired acquired;
  ASSERT_TRUE(store.Acquire(kPlain, &acquired));
  EXPECT_TRUE(store.IsLeased(Handle(16), acquired.lease));
  EXPECT_FALSE(store.Take(kPlain));
  EXPECT_EQ(store.Stats().hits, 1);
  EXPECT_EQ(store.Stats().leased_now, 1);
  EXPECT_EQ(store.Stats().parked_now, 0);
  const Ticket ticket = store.Undo(acquired);
  EXPECT_FALSE(store.IsLeased(Handle(16), acquired.lease));
  EXPECT_EQ(store.Stats().hits, 0);
  EXPECT_EQ(store.Stats().leased_now, 0);
  store.PutBack(ticket);
  EXPECT_NE(store.Lease(store.Take(kPlain), /*is_hit=*/true), 0u);
  EXPECT_EQ(store.Stats().hits, 1);
  EXPECT_EQ(store.Stats().parked_total, 1);
}

TEST(HandleStoreTest, WhatWasInvalidatedWhileItWasCheckedIsNotUndone) {
  for (bool value_is_given_again : {false, true}) {
    Store store;
    AddLeased(store, 16);
    Park(store, 16);
    HandleStore::Acquired acquired;
    ASSERT_TRUE(store.Acquire(kPlain, &acquired));
    store.Invalidate();
    if (value_is_given_again) AddLeased(store, 16);
    EXPECT_FALSE(store.Undo(acquired));
    EXPECT_EQ(store.Stats().hits, 0);
    EXPECT_EQ(store.Stats().leased_now, 0);
  }
}

// The ways in which a ticket can be used.
using Use = void (*)(HandleStore&, const Ticket&);
constexpr Use kUses[] = {
    [](HandleStore& store, const Ticket& ticket) {
      EXPECT_EQ(store.Lease(ticket, /*is_hit=*/true), 0u);
    },
    [](HandleStore& store, const Ticket& ticket) { store.PutBack(ticket); },
    [](HandleStore& store, const Ticket& ticket) {
      EXPECT_EQ(store.Park(ticket, kNoLimit), ParkResult::kForgotten);
    },
    [](HandleStore& store, const Ticket& ticket) {
      EXPECT_FALSE(store.Remove(ticket));
    }};

TEST(HandleStoreTest, ATicketIsGoodForNothingAfterTheHandleWasForgotten) {
  for (Use use : kUses) {
    for (bool invalidate : {true, false}) {
      for (bool value_is_given_again : {true, false}) {
        Store store;
        AddLeased(store, 16);
        Park(store, 16);
        Ticket ticket = store.Take(kPlain);
        invalidate ? (void)store.Invalidate()
                   : (void)store.DropStale(Handle(16));
        if (value_is_given_again) {
          EXPECT_EQ(AddLeased(store, 16, kUrgent), AddResult::kAdded);
        }
        use(store, ticket);
        EXPECT_FALSE(store.Take(kPlain));
        EXPECT_EQ(store.Stats().hits, 0);
        EXPECT_EQ(store.Stats().parked_now, 0);
        EXPECT_EQ(store.Stats().leased_now, value_is_given_again ? 1 : 0);
      }
    }
  }
}

TEST(HandleStoreTest, WhatIsPutBackIsAtItsOldPlace) {
  Store store;
  for (uintptr_t h : {32, 16}) AddLeased(store, h);
  for (uintptr_t h : {32, 16}) Park(store, h);
  store.PutBack(store.Take(kPlain));
  EXPECT_EQ(store.Stats().parked_now, 2);
  EXPECT_EQ(store.Stats().parked_total, 2);
  EXPECT_EQ(store.Take(kPlain).handle(), Handle(32));
}

TEST(HandleStoreTest, TakeAnyTakesEveryKeyInOrderAndLeavesWhatIsLeased) {
  Store store;
  AddLeased(store, 16, kPlain);
  AddLeased(store, 32, kUrgent);
  AddLeased(store, 48, kPlain);
  for (uintptr_t h : {48, 32}) Park(store, h);
  const uint64_t before = store.next_created();
  AddLeased(store, 64, kPlain);
  Park(store, 64);
  EXPECT_EQ(store.TakeAny(before).handle(), Handle(32));
  EXPECT_EQ(store.TakeAny(before).handle(), Handle(48));
  EXPECT_FALSE(store.TakeAny(before)) << "64 came later";
  EXPECT_EQ(store.Stats().parked_now, 1);
  EXPECT_EQ(store.Stats().leased_now, 1);
}

TEST(HandleStoreTest, InvalidateEndsLeasesClaimsAndParking) {
  Store store;
  for (uintptr_t h : {16, 32, 48}) AddLeased(store, h);
  Park(store, 16);
  Ticket claimed = store.Claim(Handle(32)).ticket;
  EXPECT_EQ(store.Invalidate(), 1) << "one was parked";
  EXPECT_FALSE(store.Take(kPlain));
  EXPECT_EQ(store.Park(claimed, kNoLimit), ParkResult::kForgotten);
  EXPECT_FALSE(store.Has(Handle(48)));
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kUnknown);
  EXPECT_EQ(store.Claim(Handle(32)).state, ClaimState::kUnknown);
  EXPECT_EQ(store.Claim(Handle(48)).state, ClaimState::kInvalidated);
  EXPECT_EQ(store.Claim(Handle(48)).state, ClaimState::kUnknown);
  EXPECT_EQ(store.Stats().leased_now, 0);
  EXPECT_EQ(store.Stats().parked_now, 0);
}

// HIP gives a value again only if the old handle is gone.
TEST(HandleStoreTest, ANewHandleTakesThePlaceOfTheOldOneOfItsValue) {
  Store store;
  EXPECT_EQ(AddLeased(store, 16, kPlain, 1), AddResult::kAdded);
  EXPECT_EQ(AddLeased(store, 16, kPlain, 2), AddResult::kAddedForStale)
      << "it was leased";
  EXPECT_EQ(store.Stats().leased_now, 1);
  Park(store, 16);
  EXPECT_EQ(AddLeased(store, 16, kUrgent, 3), AddResult::kAddedForStale)
      << "it was parked";
  EXPECT_FALSE(store.Take(kPlain));
  EXPECT_EQ(store.Stats().parked_now, 0);
  EXPECT_EQ(store.Stats().leased_now, 1);
  Ticket old = store.Claim(Handle(16)).ticket;
  EXPECT_EQ(old.identity(), 3u);
  EXPECT_EQ(AddLeased(store, 16, kPlain, 4), AddResult::kAddedForStale)
      << "it was claimed";
  EXPECT_FALSE(store.Remove(old));
  EXPECT_EQ(store.Claim(Handle(16)).ticket.identity(), 4u);
}

TEST(HandleStoreTest, ANewHandleIsHeldBackUntilTheInvalidatedLeaseIsClaimed) {
  Store store;
  AddLeased(store, 16, kPlain, 1);
  store.Invalidate();
  EXPECT_EQ(AddLeased(store, 16, kUrgent, 2), AddResult::kHeldBack);
  EXPECT_EQ(store.Stats().leased_now, 0);
  EXPECT_FALSE(store.Take(kUrgent));
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kInvalidated);
  EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kParked);
  const Ticket ticket = store.Take(kUrgent);
  ASSERT_TRUE(ticket);
  EXPECT_EQ(ticket.identity(), 2u);
}

// An owner may never come, and more would be held back each time.
TEST(HandleStoreTest, OwnersAreWaitedForUntilTheNextInvalidate) {
  for (bool is_held_back : {false, true}) {
    Store store;
    AddLeased(store, 16, kPlain, 1);
    store.Invalidate();
    if (is_held_back) AddLeased(store, 16, kPlain, 2);
    EXPECT_EQ(store.Invalidate(), 0);
    EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kUnknown);
    EXPECT_EQ(AddLeased(store, 16, kPlain, 3), AddResult::kAdded);
  }
}

TEST(HandleStoreTest, TakeAnyTakesWhatIsHeldBackInItsPlace) {
  for (bool owner_claims_meanwhile : {false, true}) {
    Store store;
    AddLeased(store, 16, kPlain, 1);
    store.Invalidate();
    for (uintptr_t h : {32, 16, 48}) AddLeased(store, h, kPlain, h + 1);
    for (uintptr_t h : {32, 48}) Park(store, h);
    const uint64_t before = store.next_created();
    EXPECT_EQ(store.TakeAny(before).handle(), Handle(32));
    const Ticket held_back = store.TakeAny(before);
    EXPECT_EQ(held_back.identity(), 17u);
    store.PutBack(held_back);
    const Ticket parked = store.Take(kPlain);
    EXPECT_EQ(parked.identity(), 49u) << "the other is held back again";
    store.PutBack(parked);
    const Ticket again = store.TakeAny(before);
    EXPECT_EQ(again.identity(), 17u);
    if (owner_claims_meanwhile) {
      EXPECT_EQ(store.Claim(Handle(16)).state, ClaimState::kInvalidated);
    }
    EXPECT_TRUE(store.Remove(again));
    EXPECT_FALSE(store.Has(Handle(16)));
    EXPECT_EQ(AddLeased(store, 16, kPlain, 3),
              owner_claims_meanwhile ? AddResult::kAdded : AddResult::kHeldBack)
        << "its owner is still waited for";
  }
}

TEST(HandleStoreTest, DropStaleForgetsAllButAnInvalidatedLease) {
  Store store;
  for (uintptr_t h : {16, 32, 48}) AddLeased(store, h);
  Park(store, 16);
  Ticket claimed = store.Claim(Handle(32)).ticket;
  for (uintptr_t h : {16, 32, 48}) EXPECT_TRUE(store.DropStale(Handle(h)));
  EXPECT_FALSE(store.DropStale(Handle(16)));
  EXPECT_FALSE(store.Take(kPlain));
  EXPECT_EQ(store.Park(claimed, kNoLimit), ParkResult::kForgotten);
  EXPECT_EQ(store.Claim(Handle(48)).state, ClaimState::kUnknown);
  EXPECT_EQ(store.Stats().parked_now, 0);
  EXPECT_EQ(store.Stats().leased_now, 0);

  for (bool is_held_back : {false, true}) {
    AddLeased(store, 64);
    store.Invalidate();
    if (is_held_back) AddLeased(store, 64);
    EXPECT_EQ(store.DropStale(Handle(64)), is_held_back);
    EXPECT_EQ(store.Claim(Handle(64)).state, ClaimState::kInvalidated);
    EXPECT_EQ(store.Claim(Handle(64)).state, ClaimState::kUnknown);
    EXPECT_FALSE(store.TakeAny(store.next_created()));
  }
}

// The counts are exact again when all is quiet, whatever ran at once before.
TEST(HandleStoreTest, CountsAreExactAfterInvalidatesAmongLeases) {
  Store store;
  std::atomic<bool> stop{false};
  std::thread invalidates([&] {
    while (!stop) store.Invalidate();
  });
  int64_t reused = 0;
  int64_t parked = 0;
  uintptr_t next = 16;
  const auto park = [&](uintptr_t value) {
    const HandleStore::ClaimResult claim = store.Claim(Handle(value));
    if (claim.state != ClaimState::kClaimed) return;
    if (store.Park(claim.ticket, kNoLimit) == ParkResult::kParked) ++parked;
  };
  for (int i = 0; i < 200000; ++i) {
    HandleStore::Acquired acquired;
    if (store.Acquire(kPlain, &acquired)) {
      if (i % 3 != 0) {
        ++reused;
        park(reinterpret_cast<uintptr_t>(acquired.handle));
      } else if (const Ticket ticket = store.Undo(acquired)) {
        store.PutBack(ticket);
      }
    } else {
      Ticket made;
      store.Add(Handle(++next), kPlain, 0, &made);
      if (store.Lease(made, /*is_hit=*/false) != 0) park(next);
    }
  }
  stop = true;
  invalidates.join();
  EXPECT_EQ(store.Stats().hits, reused);
  EXPECT_EQ(store.Stats().parked_total, parked);
  EXPECT_EQ(store.Stats().leased_now, 0);
  EXPECT_EQ(store.Stats().parked_now, store.ParkedOf(kPlain));
}

// Eight threads create, lease, park and remove at random. Each checks that what
// the store gives it has no other holder.
TEST(HandleStoreTest, NoHandleHasTwoHoldersWithManyThreads) {
  constexpr int kThreads = 8;
  constexpr int kSteps = 20000;
  Store store;
  std::vector<std::atomic<int>> holders(kThreads * kSteps + 1);
  std::atomic<uintptr_t> next{1};
  std::atomic<int> faults{0};
  const auto take = [&](HandleStore::Handle h) {
    if (holders[reinterpret_cast<uintptr_t>(h)]++ != 0) ++faults;
  };
  const auto give = [&](HandleStore::Handle h) {
    if (--holders[reinterpret_cast<uintptr_t>(h)] != 0) ++faults;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<HandleStore::Handle> mine;
      for (int step = 0; step < kSteps; ++step) {
        const StreamKey& key = random() % 2 ? kPlain : kUrgent;
        switch (random() % 8) {
          case 0: {
            mine.push_back(Handle(next++));
            take(mine.back());
            AddLeased(store, reinterpret_cast<uintptr_t>(mine.back()), key);
            break;
          }
          case 1:
          case 2:
            if (HandleStore::Acquired acquired; store.Acquire(key, &acquired)) {
              take(acquired.handle);
              if (random() % 4 == 0) {
                give(acquired.handle);
                store.PutBack(store.Undo(acquired));
              } else {
                mine.push_back(acquired.handle);
              }
            }
            break;
          case 3:
            while (const Ticket ticket = store.TakeAny(store.next_created())) {
              take(ticket.handle());
              give(ticket.handle());
              if (!store.Remove(ticket)) ++faults;
            }
            break;
          default:
            if (mine.empty()) break;
            std::swap(mine[random() % mine.size()], mine.back());
            HandleStore::ClaimResult claim = store.Claim(mine.back());
            if (claim.state != ClaimState::kClaimed) {
              ++faults;
              break;
            }
            give(mine.back());
            if (store.Park(claim.ticket, 16) == ParkResult::kOverLimit) {
              if (!store.Remove(claim.ticket)) ++faults;
            }
            mine.pop_back();
        }
      }
      for (HandleStore::Handle h : mine) {
        if (!store.Claim(h).ticket) ++faults;
        give(h);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(store.Stats().leased_now, 0);
  EXPECT_GT(store.Stats().hits, 0);
}

}  // namespace
}  // namespace hip_stream_pool
