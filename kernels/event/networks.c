#include "networks.h"

#include "network_constant.h"
#include "network_flow.h"
#include "network_ib.h"
#include "world.h"

static const network_kind *const kinds[] = {[NETWORK_FLOW] = &network_flow, [NETWORK_IB] = &network_ib,
                                            [NETWORK_CONSTANT] = &network_constant};

int networks_begin(sim *s)
{
    const int kind = s->model.network.kind;
    if (kind < 0 || kind >= (int)(sizeof kinds / sizeof *kinds)) return SIM_BAD_SIZE;
    return sim_use_network(s, kinds[kind], &s->model.network);
}
